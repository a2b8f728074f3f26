import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { answerConnect, type Connect } from '../../../../functions/connect/connect.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';

const options = { deadlineMs: 1 };
const refresh = {
  action: 'refresh',
  partnerAccount: 'main',
  rejectedVersion: 'v',
  because: 'token-rejected',
};
const connected = {
  partnerAccount: 'main',
  generation: 1_763_640_000,
  scope: 'v2',
  tokenExpiresAt: '2026-11-21T12:00:00.000Z',
  isNew: true,
  feed: { kind: 'read', listed: 0, hasMore: false },
} as const;

const aConnectStage = () => ({
  authorize: vi.fn(async () => ({ url: 'https://partner.example/oauth/authorize/' })),
  connect: vi.fn<Connect['connect']>(async () => connected),
  disconnect: vi.fn(async () => true),
  beginForget: vi.fn(async () => 1_763_640_000),
  endForget: vi.fn(async () => {}),
  check: vi.fn(async () => ({ scope: 'v2' })),
});

describe('the event of connect', () => {
  it.each([
    [{ refreshToken: 'hidden-one' }],
    [{ code: 'hidden-one', redirectUri: 'https://here.example/', newUser: true }],
  ])('connects with what it says, its secret hidden: %#', async (credential) => {
    const stage = aConnectStage();
    const event = { action: 'connect', partnerAccount: 'main', since: '2026-11-20T12:00:00Z', ...credential };

    expect(await answerConnect(stage, event, options)).toEqual({ kind: 'connected', ...connected });

    const [request, given] = stage.connect.mock.calls[0] ?? [];
    expect(inspect(request)).not.toContain('hidden-one');
    const secret =
      'code' in credential ? { code: new Secret('hidden-one') } : { refreshToken: new Secret('hidden-one') };
    const { action: _action, ...rest } = event;
    expect([request, given]).toEqual([{ ...rest, ...secret }, options]);
  });

  it('authorizes with the state and the address given', async () => {
    const stage = aConnectStage();
    const request = { state: 'a-state-of-some-length', redirectUri: 'http://127.0.0.1:1/callback' };

    expect(await answerConnect(stage, { action: 'authorize', ...request }, options)).toEqual({
      kind: 'authorize',
      url: 'https://partner.example/oauth/authorize/',
    });
    expect(stage.authorize).toHaveBeenCalledWith(expect.objectContaining(request));
  });

  it.each([
    [{}],
    [null],
    [refresh],
    [{ action: 'dance', partnerAccount: 'main' }],
    [{ action: 'connect', partnerAccount: 'main' }],
    [{ action: 'connect', partnerAccount: '../x', refreshToken: 'hidden-one' }],
  ])('is refused when it is not of the contract, unrepeated: %#', async (event) => {
    const fault = await answerConnect(aConnectStage(), event, options).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'wrong-shape' });
    expect(inspect(fault)).not.toContain('hidden-one');
  });

  it('gives the refusal of a connect as data, and fails for anything else', async () => {
    const stage = aConnectStage();
    const event = { action: 'connect', partnerAccount: 'main', code: 'x' };
    stage.connect.mockRejectedValueOnce(new BridgeFault('grant-rejected', 'the code is dead'));
    expect(await answerConnect(stage, event, options)).toEqual({
      kind: 'refused',
      fault: 'grant-rejected',
      reason: 'the code is dead',
    });
    stage.connect.mockRejectedValueOnce(new Error('table gone'));
    await expect(answerConnect(stage, event, options)).rejects.toThrow('table gone');
  });

  it('checks the application, and gives its refusal as data', async () => {
    const stage = aConnectStage();
    expect(await answerConnect(stage, { action: 'check' }, options)).toEqual({
      kind: 'accepted',
      scope: 'v2',
    });
    stage.check.mockRejectedValueOnce(new BridgeFault('client-rejected', 'wrong secret'));
    expect(await answerConnect(stage, { action: 'check' }, options)).toMatchObject({
      kind: 'refused',
      fault: 'client-rejected',
    });
  });

  it('disconnects, and forgets in two steps only when asked to', async () => {
    const stage = aConnectStage();
    const event = { action: 'disconnect', partnerAccount: 'main' };
    expect(await answerConnect(stage, event, options)).toEqual({ kind: 'disconnected', known: true });
    expect(stage.beginForget).not.toHaveBeenCalled();
    const generation = 1_763_640_000;
    expect(await answerConnect(stage, { ...event, forget: true }, options)).toEqual({
      kind: 'forgetting',
      generation,
    });
    expect(stage.endForget).not.toHaveBeenCalled();
    const rest = { action: 'forget', partnerAccount: 'main', generation };
    expect(await answerConnect(stage, rest, options)).toEqual({ kind: 'forgotten' });
    expect(stage.endForget).toHaveBeenCalledWith('main', generation);
  });

  it('gives the refusal of a forget as data: somebody connected the name again', async () => {
    const stage = aConnectStage();
    stage.endForget.mockRejectedValueOnce(new BridgeFault('account-busy', 'connected again'));
    const event = { action: 'forget', partnerAccount: 'main', generation: 1_763_640_000 };
    expect(await answerConnect(stage, event, options)).toMatchObject({
      kind: 'refused',
      fault: 'account-busy',
    });
  });
});
