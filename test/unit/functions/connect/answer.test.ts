import { inspect } from 'node:util';
import { expect, it, vi } from 'vitest';
import { answerConnect, type Connect } from '../../../../functions/connect/connect.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';

const options = { deadlineMs: 1 };
const generation = 1_763_640_000;
const url = 'https://partner.example/oauth/authorize/';
const connected = {
  ...{ partnerAccount: 'main', generation, scope: 'v2', tokenExpiresAt: '2026-11-21T12:00:00.000Z' },
  ...{ isNew: true, feed: { kind: 'read', listed: 0, hasMore: false } as const },
};

const aConnectStage = () => ({
  authorize: vi.fn(async () => ({ url })),
  connect: vi.fn<Connect['connect']>(async () => connected),
  disconnect: vi.fn(async () => true),
  beginForget: vi.fn(async () => generation),
  endForget: vi.fn(async () => {}),
  check: vi.fn(async () => ({ scope: 'v2' })),
  storeMovedPair: vi.fn<Connect['storeMovedPair']>(async () => 'v1'),
});
const main = { partnerAccount: 'main' };
const redirectUri = 'http://127.0.0.1:1/callback';

it.each<[object, object]>([
  [
    { action: 'authorize', state: 'a-state-of-some-length', redirectUri },
    { kind: 'authorize', url },
  ],
  [{ action: 'check' }, { kind: 'accepted', scope: 'v2' }],
  [
    { action: 'check-application', clientId: 'a', clientSecret: 'b' },
    { kind: 'accepted', scope: 'v2' },
  ],
  [
    { action: 'disconnect', ...main },
    { kind: 'disconnected', known: true },
  ],
  [
    { action: 'disconnect', ...main, forget: true },
    { kind: 'forgetting', generation },
  ],
  [{ action: 'forget', ...main, generation }, { kind: 'forgotten' }],
])('connect is called with the parsed event: %j is answered by %j', async (event, answer) => {
  expect(await answerConnect(aConnectStage(), event, options)).toEqual(answer);
});

it.each([
  [{ refreshToken: 'hidden-one' }],
  [{ code: 'hidden-one', redirectUri: 'https://here.example/', newUser: true }],
])('connect gets the fields of its event, the secret hidden: %#', async (credential) => {
  const stage = aConnectStage();
  const event = { action: 'connect', ...main, since: '2026-11-20T12:00:00Z', ...credential };

  expect(await answerConnect(stage, event, options)).toEqual({ kind: 'connected', ...connected });

  const [request] = stage.connect.mock.calls[0] ?? [];
  expect(inspect(request)).not.toContain('hidden-one');
  const name = 'code' in credential ? 'code' : 'refreshToken';
  const { action: _action, ...rest } = event;
  expect(request).toEqual({ ...rest, [name]: new Secret('hidden-one') });
});

it.each([
  [{}],
  [null],
  [{ action: 'refresh', ...main, rejectedVersion: 'v', because: 'token-rejected' }],
  [{ action: 'connect', ...main }],
  [{ action: 'connect', partnerAccount: '../x', refreshToken: 'hidden-one' }],
])('an event of another shape is refused, and not repeated: %#', async (event) => {
  const fault = await answerConnect(aConnectStage(), event, options).catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: 'wrong-shape' });
  expect(inspect(fault)).not.toContain('hidden-one');
});

it('connect answers with a refusal as data and fails for any other error', async () => {
  const stage = aConnectStage();
  const event = { action: 'connect', ...main, code: 'x' };
  stage.connect.mockRejectedValueOnce(new BridgeFault('grant-rejected', 'the code is dead'));
  expect(await answerConnect(stage, event, options)).toEqual({
    ...{ kind: 'refused', fault: 'grant-rejected', reason: 'the code is dead' },
  });
  stage.connect.mockRejectedValueOnce(new Error('table gone'));
  await expect(answerConnect(stage, event, options)).rejects.toThrow('table gone');
});
