import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { PartnerError } from '../../../shared/domain/faults.ts';
import {
  answerConnect,
  answerRefreshToken,
  connectFunctionRequest,
} from '../../../shared/runtime/refresh-token-event.ts';

const options = { deadlineMs: 1 };

const aRefreshTokenStage = () => ({
  sweep: vi.fn(async () => ({ refreshed: [], failed: [] })),
  refresh: vi.fn(async () => ({ kind: 'renewed' })),
});

const aConnectStage = () => ({
  authorize: vi.fn(async () => ({ url: 'https://partner.example/oauth/authorize/' })),
  connect: vi.fn(async () => ({ partnerAccount: 'main' })),
  disconnect: vi.fn(async () => true),
  beginForget: vi.fn(async () => 1_763_640_000),
  endForget: vi.fn(async () => {}),
  check: vi.fn(async () => ({ scope: 'v2' })),
});

const refresh = {
  action: 'refresh',
  partnerAccount: 'main',
  rejectedVersion: 'v',
  because: 'token-rejected',
};
const ofOperators = [
  { action: 'authorize', state: 'a-state-of-some-length', redirectUri: 'http://127.0.0.1:1/callback' },
  { action: 'connect', partnerAccount: 'main', refreshToken: 'hidden-one' },
  { action: 'disconnect', partnerAccount: 'main' },
  { action: 'disconnect', partnerAccount: 'main', forget: true },
  { action: 'forget', partnerAccount: 'main', generation: 1_763_640_000 },
  { action: 'check' },
];

describe('the event of refresh-token', () => {
  it.each([[{}], [{ source: 'aws.scheduler', 'detail-type': 'Scheduled Event' }], [null]])(
    'is a sweep when it names no action: %j',
    async (event) => {
      const stage = aRefreshTokenStage();
      await answerRefreshToken(stage, event, options);
      expect(stage.sweep).toHaveBeenCalledWith(options);
    },
  );

  it('is a refresh when it asks for one', async () => {
    const stage = aRefreshTokenStage();
    expect(await answerRefreshToken(stage, refresh, options)).toEqual({ kind: 'renewed' });
    expect(stage.refresh).toHaveBeenCalledWith(refresh, options);
  });

  it.each(ofOperators)('is refused for what operators ask for, unrepeated: %#', async (event) => {
    // All that the function once could do: who may ask for a refresh must not get at the rest of it.
    const stage = { ...aRefreshTokenStage(), ...aConnectStage() };
    const fault = await answerRefreshToken(stage, event, options).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'wrong-shape' });
    expect(inspect(fault)).not.toContain('hidden-one');
    for (const method of Object.values(stage)) expect(method).not.toHaveBeenCalled();
  });

  it.each([
    [{ action: 'dance', partnerAccount: 'main' }],
    [{ ...refresh, because: 'hidden-one' }],
    [{ ...refresh, partnerAccount: '../x' }],
  ])('is refused when it is not of the contract, unrepeated: %#', async (event) => {
    const fault = await answerRefreshToken(aRefreshTokenStage(), event, options).catch(
      (error: unknown) => error,
    );
    expect(fault).toMatchObject({ code: 'wrong-shape' });
    expect(inspect(fault)).not.toContain('hidden-one');
  });
});

describe('the event of connect', () => {
  it('hides its secrets at once', () => {
    for (const secret of [{ refreshToken: 'hidden-one' }, { code: 'hidden-one' }]) {
      const request = connectFunctionRequest({ action: 'connect', partnerAccount: 'main', ...secret });
      expect(inspect(request)).not.toContain('hidden-one');
    }
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
    stage.connect.mockRejectedValueOnce(new PartnerError('grant-rejected', 'the code is dead'));
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
    stage.check.mockRejectedValueOnce(new PartnerError('client-rejected', 'wrong secret'));
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
    stage.endForget.mockRejectedValueOnce(new PartnerError('account-busy', 'connected again'));
    const event = { action: 'forget', partnerAccount: 'main', generation: 1_763_640_000 };
    expect(await answerConnect(stage, event, options)).toMatchObject({
      kind: 'refused',
      fault: 'account-busy',
    });
  });
});
