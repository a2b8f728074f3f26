import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { expect, it, vi } from 'vitest';
import { answerRefreshToken } from '../../../../functions/refresh-token/refresh-token.ts';
import { redactedError } from '../../../../shared/domain/redaction.ts';

const options = { deadlineMs: 1 };

const aRefreshTokenStage = () => ({
  sweep: vi.fn(async () => undefined),
  refresh: vi.fn(async () => ({ kind: 'renewed' }) as const),
});

const refresh = {
  action: 'refresh',
  partnerAccount: 'main',
  rejectedVersion: 'v',
  because: 'token-rejected',
};
it.each([[{}], [{ source: 'aws.scheduler', 'detail-type': 'Scheduled Event' }], [null]])(
  'an event without an action is a sweep: %j',
  async (event) => {
    const stage = aRefreshTokenStage();
    let swept = false;
    stage.sweep.mockImplementation(async () => {
      await nextTurn();
      swept = true;
      return undefined;
    });

    expect(await answerRefreshToken(stage, event, options)).toBeUndefined();

    expect(swept).toBe(true);
    expect(stage.sweep).toHaveBeenCalledWith(options);
  },
);

it('an event that asks for a refresh is one', async () => {
  const stage = aRefreshTokenStage();
  expect(await answerRefreshToken(stage, refresh, options)).toEqual({ kind: 'renewed' });
  expect(stage.refresh).toHaveBeenCalledWith(refresh, options);
});

it.each([
  // Who may ask for a refresh must not be able to do more.
  { action: 'authorize', state: 'a-state-of-some-length', redirectUri: 'http://127.0.0.1:1/callback' },
  { action: 'connect', partnerAccount: 'main', refreshToken: 'hidden-one' },
  { action: 'disconnect', partnerAccount: 'main' },
  { action: 'forget', partnerAccount: 'main', generation: 1_763_640_000 },
  { action: 'check' },
  { action: 'dance', partnerAccount: 'main' },
  { ...refresh, because: 'hidden-one' },
  { ...refresh, partnerAccount: '../x' },
])('any other event is refused and not repeated: %#', async (event) => {
  const stage = aRefreshTokenStage();
  const fault = await answerRefreshToken(stage, event, options).catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: 'wrong-shape' });
  expect(inspect(fault)).not.toContain('hidden-one');
  // Its log line names the wrong field.
  expect(redactedError(fault)).toHaveProperty('message', (fault as Error).message);
  for (const method of Object.values(stage)) expect(method).not.toHaveBeenCalled();
});
