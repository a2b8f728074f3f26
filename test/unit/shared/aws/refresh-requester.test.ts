import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { beforeEach, expect, it, vi } from 'vitest';
import { createRefreshRequester } from '../../../../shared/aws/refresh-requester.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

const lambda = mockClient(LambdaClient);
const fn = { client: new LambdaClient({}), functionName: 'refresh-token' };
const requester = createRefreshRequester(fn, createManualClock(1_000));
const request = { partnerAccount: 'main', rejectedVersion: 'version-1', because: 'token-rejected' } as const;
const ask = (deadlineMs = 5_000) => requester.refresh(request, { deadlineMs });
const answer = (value: unknown, more = {}) =>
  lambda.on(InvokeCommand).resolves({ Payload: Buffer.from(JSON.stringify(value)) as never, ...more });

beforeEach(() => lambda.reset());

it.each([{ kind: 'renewed' }, { kind: 'held' }, { kind: 'failed', fault: 'transient', reason: 'busy' }])(
  'a request for a refresh names the rejected version, and returns %o',
  async (outcome) => {
    answer(outcome);
    expect(await ask()).toEqual(outcome);
    const [call] = lambda.commandCalls(InvokeCommand);
    expect(JSON.parse(String(call?.args[0].input.Payload))).toEqual({ action: 'refresh', ...request });
  },
);

it.each([
  [
    'ended with an error',
    () => answer({ errorMessage: 'hidden-one' }, { FunctionError: 'Unhandled' }),
    'FunctionError: refresh-token failed (Unhandled): its log says why',
  ],
  ['answered in another shape', () => answer({ kind: 'hidden-one' }), 'answer of refresh-token'],
  ['answered nothing', () => lambda.on(InvokeCommand).resolves({}), 'answer of refresh-token'],
  [
    'cannot be reached',
    () => lambda.on(InvokeCommand).rejects(new TypeError('no route')),
    'TypeError: no route',
  ],
])('a request for a refresh is a passing fault when the function %s', async (_, prepare, reason) => {
  prepare();
  const outcome = await ask();
  expect(outcome).toMatchObject({ kind: 'failed', fault: 'transient' });
  expect(outcome).toHaveProperty('reason', expect.stringContaining(reason));
  expect(JSON.stringify(outcome)).not.toContain('hidden-one');
});

it('a request for a refresh names the fault when the invocation is denied', async () => {
  lambda.on(InvokeCommand).rejects(Object.assign(new Error('x'), { name: 'AccessDeniedException' }));
  expect(await ask()).toMatchObject({ kind: 'failed', fault: 'resource-unusable' });
});

// The drain's deadline holds so many slots of the rate budget: 30 of 7 a second are 4,285.7 ms.
it.each([
  [4_000, 4_000],
  [4_285.714, 4_286],
])('a request for a refresh waits at most the %d ms until the deadline', async (leftMs, timeoutMs) => {
  answer({ kind: 'renewed' });
  const limit = vi.spyOn(AbortSignal, 'timeout');
  expect(await ask(1_000 + leftMs)).toEqual({ kind: 'renewed' });
  expect(limit.mock.calls).toEqual([[timeoutMs]]);
  const [, options] = lambda.send.getCall(0).args as readonly unknown[];
  expect(options).toMatchObject({ abortSignal: limit.mock.results[0]?.value });
});

it('a request for a refresh is not made when no time is left', async () => {
  expect(await ask(1_000)).toMatchObject({ kind: 'failed' });
  expect(lambda.calls()).toHaveLength(0);
});
