import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRefreshRequester } from '../../../shared/aws/refresh-requester.ts';
import { aClock } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';

const lambda = mockClient(LambdaClient);
const requester = createRefreshRequester({
  client: new LambdaClient({}),
  functionName: 'refresh-token',
  clock: aClock(1_000),
});
const request = { partnerAccount: 'main', rejectedVersion: 'version-1', because: 'token-rejected' } as const;
const ask = (deadlineMs = 5_000) => requester.refresh(request, { deadlineMs });
const payload = (value: unknown) =>
  Uint8Array.from(Buffer.from(JSON.stringify(value))) as ReturnType<typeof Uint8Array.from> & {
    transformToString(): string;
  };

beforeEach(() => lambda.reset());
afterEach(() => vi.restoreAllMocks());

describe('asking for a refresh', () => {
  it('names the version that was rejected and gives the answer', async () => {
    lambda.on(InvokeCommand).resolves({ Payload: payload({ kind: 'busy', retryAfterMs: 500 }) as never });
    expect(await ask()).toEqual({ kind: 'busy', retryAfterMs: 500 });
    const input = lambda.commandCalls(InvokeCommand)[0]?.args[0].input;
    expect(JSON.parse(String(input?.Payload))).toEqual({
      action: 'refresh',
      partnerAccount: 'main',
      rejectedVersion: 'version-1',
      because: 'token-rejected',
    });
  });

  it.each([
    ['ended with an error', { FunctionError: 'Unhandled', Payload: payload({ errorMessage: 'hidden-one' }) }],
    ['answered in another shape', { Payload: payload({ kind: 'hidden-one' }) }],
    ['answered nothing', {}],
  ])('takes it for a passing fault when the function %s', async (_, answer) => {
    lambda.on(InvokeCommand).resolves(answer as never);
    const outcome = await ask();
    expect(outcome).toMatchObject({ kind: 'failed', fault: 'transient' });
    expect(JSON.stringify(outcome)).not.toContain('hidden-one');
  });

  it('takes it for a passing fault when the function cannot be reached', async () => {
    lambda
      .on(InvokeCommand)
      .rejects(Object.assign(new Error('Rate Exceeded.'), { name: 'TooManyRequestsException' }));
    expect(await ask()).toMatchObject({ kind: 'failed', fault: 'transient' });
  });

  // The drain's deadline holds so many slots of the rate budget: 30 of 7 a second are 4,285.7 ms.
  it.each([1_000.25, 4_285.714])(
    'waits also until a moment between two milliseconds: %d ms',
    async (leftMs) => {
      lambda.on(InvokeCommand).resolves({ Payload: payload({ kind: 'renewed' }) as never });
      expect(await ask(1_000 + leftMs)).toEqual({ kind: 'renewed' });
    },
  );

  it('asks nothing when no time is left', async () => {
    expect(await ask(1_000)).toMatchObject({ kind: 'failed' });
    expect(lambda.calls()).toHaveLength(0);
  });

  it('says what went wrong', async () => {
    const answers = [
      () => Promise.reject(new TypeError('no route')),
      () => Promise.reject('no error'),
      async () => ({ FunctionError: 'Unhandled' }),
    ];
    lambda.on(InvokeCommand).callsFake(() => answers.shift()?.());
    expect(await ask()).toMatchObject({ reason: 'TypeError: no route' });
    expect(await ask()).toMatchObject({ reason: 'refresh-token was not reached' });
    expect(await ask()).toMatchObject({
      reason: 'FunctionError: refresh-token failed (Unhandled): its log says why',
    });
  });

  it.each([
    { kind: 'renewed' },
    { kind: 'paused', untilMs: 5, reason: 'slow down' },
    { kind: 'stopped', reason: 'disconnected' },
    { kind: 'failed', fault: 'transient', reason: 'busy' },
  ])('gives each kind of answer: %o', async (answer) => {
    lambda.on(InvokeCommand).resolves({ Payload: payload(answer) as never });
    expect(await ask()).toEqual(answer);
  });

  it('waits no longer than there is time', async () => {
    lambda.on(InvokeCommand).resolves({ Payload: payload({ kind: 'renewed' }) as never });
    const limit = vi.spyOn(AbortSignal, 'timeout');
    await ask(5_000);
    expect(limit.mock.calls).toEqual([[4_000]]);
    const [, options] = lambda.send.getCall(0).args as readonly unknown[];
    expect(options).toMatchObject({ abortSignal: limit.mock.results[0]?.value });
  });
});
