import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { answerRefreshToken } from '../../../../functions/refresh-token/answer.ts';

const options = { deadlineMs: 1 };

const aRefreshTokenStage = () => ({
  sweep: vi.fn(async () => ({ refreshed: [], failed: [] })),
  refresh: vi.fn(async () => ({ kind: 'renewed' }) as const),
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
    // Who may ask for a refresh must not be able to do more.
    const stage = aRefreshTokenStage();
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
