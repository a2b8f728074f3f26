import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { PartnerFault } from '../../../shared/domain/faults.ts';
import { answerRefreshToken, refreshTokenRequest } from '../../../shared/runtime/refresh-token-event.ts';

const options = { deadlineMs: 1 };
function aStage() {
  return {
    sweep: vi.fn(async () => ({ refreshed: [], failed: [] })),
    refresh: vi.fn(async () => ({ kind: 'renewed' })),
    authorize: vi.fn(async () => ({ url: 'https://partner.example/oauth/authorize/' })),
    connect: vi.fn(async () => ({ partnerAccount: 'main' })),
    disconnect: vi.fn(async () => true),
    forget: vi.fn(async () => {}),
    check: vi.fn(async () => ({ scope: 'v2' })),
  };
}

describe('the event of refresh-token', () => {
  it.each([[{}], [{ source: 'aws.scheduler', 'detail-type': 'Scheduled Event' }], [null]])(
    'is a sweep when it names no action: %j',
    async (event) => {
      const stage = aStage();
      await answerRefreshToken(stage, event, options);
      expect(stage.sweep).toHaveBeenCalledWith(options);
    },
  );

  it('hides its secrets at once', () => {
    for (const secret of [{ refreshToken: 'hidden-one' }, { code: 'hidden-one' }]) {
      const request = refreshTokenRequest({ action: 'connect', partnerAccount: 'main', ...secret });
      expect(inspect(request)).not.toContain('hidden-one');
    }
  });

  it.each([
    [{ action: 'dance', partnerAccount: 'main' }],
    [{ action: 'connect', partnerAccount: 'main' }],
    [{ action: 'connect', partnerAccount: '../x', refreshToken: 'hidden-one' }],
    [{ action: 'refresh', partnerAccount: 'main', rejectedVersion: 'v', because: 'hidden-one' }],
  ])('is refused when it is not of the contract, unrepeated: %#', async (event) => {
    const fault = await answerRefreshToken(aStage(), event, options).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'wrong-shape' });
    expect(inspect(fault)).not.toContain('hidden-one');
  });

  it('gives the refusal of a connect as data, and fails for anything else', async () => {
    const stage = aStage();
    const event = { action: 'connect', partnerAccount: 'main', code: 'x' };
    stage.connect.mockRejectedValueOnce(new PartnerFault('grant-rejected', 'the code is dead'));
    expect(await answerRefreshToken(stage, event, options)).toEqual({
      kind: 'refused',
      fault: 'grant-rejected',
      reason: 'the code is dead',
    });
    stage.connect.mockRejectedValueOnce(new Error('table gone'));
    await expect(answerRefreshToken(stage, event, options)).rejects.toThrow('table gone');
  });

  it('checks the application, and gives its refusal as data', async () => {
    const stage = aStage();
    expect(await answerRefreshToken(stage, { action: 'check' }, options)).toEqual({
      kind: 'accepted',
      scope: 'v2',
    });
    stage.check.mockRejectedValueOnce(new PartnerFault('client-rejected', 'wrong secret'));
    expect(await answerRefreshToken(stage, { action: 'check' }, options)).toMatchObject({
      kind: 'refused',
      fault: 'client-rejected',
    });
  });

  it('disconnects, and forgets only when asked to', async () => {
    const stage = aStage();
    const event = { action: 'disconnect', partnerAccount: 'main' };
    expect(await answerRefreshToken(stage, event, options)).toEqual({ kind: 'disconnected', known: true });
    expect(stage.forget).not.toHaveBeenCalled();
    expect(await answerRefreshToken(stage, { ...event, forget: true }, options)).toEqual({
      kind: 'forgotten',
    });
    expect(stage.forget).toHaveBeenCalledWith('main');
  });
});
