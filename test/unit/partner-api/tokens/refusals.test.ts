import { describe, expect, it } from 'vitest';
import { PartnerError } from '../../../../shared/domain/faults.ts';
import { createRefusals, pausedFault, stoppedFault } from '../../../../shared/partner-api/tokens/refusals.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

function setUp() {
  const clock = createManualClock();
  const refusals = createRefusals(clock);
  const refused = (name = 'main') => {
    try {
      refusals.check(name);
      return undefined;
    } catch (fault) {
      return fault as PartnerError;
    }
  };
  return { clock, refusals, refused };
}

describe('a refusal that is remembered', () => {
  it('is, for a stop, the very same fault during five seconds', () => {
    const { clock, refusals, refused } = setUp();
    const stop = stoppedFault('main', 'scope-insufficient');
    refusals.note('main', stop);

    clock.advance(4_999);
    expect(refused()).toBe(stop);
    clock.advance(1);
    expect(refused()).toBeUndefined();
    clock.advance(-1);
    expect(refused()).toBeUndefined();
  });

  it('is, for a pause, what is left of it', () => {
    const { clock, refusals, refused } = setUp();
    const pause = pausedFault('main', 'tired', 3_000);
    refusals.note('main', pause);

    clock.advance(2_000);
    expect(refused()).toMatchObject({
      code: 'account-paused',
      message: pause.message,
      retryAfterMs: 1_000,
    });
    clock.advance(999);
    expect(refused()).toMatchObject({ retryAfterMs: 1 });
    clock.advance(1);
    expect(refused()).toBeUndefined();
  });

  it('is a long pause for five seconds only: somebody may have ended it', () => {
    const { clock, refusals, refused } = setUp();
    refusals.note('main', pausedFault('main', 'tired', 60_000));

    clock.advance(4_999);
    expect(refused()).toMatchObject({ retryAfterMs: 55_001 });
    clock.advance(1);
    expect(refused()).toBeUndefined();
  });

  it('does not last longer for being met again, but a new one does', () => {
    const { clock, refusals, refused } = setUp();
    const stop = stoppedFault('main', 'revoked');
    refusals.note('main', stop);
    clock.advance(4_000);
    refusals.note('main', stop);
    clock.advance(1_000);
    expect(refused()).toBeUndefined();

    refusals.note('main', stop);
    clock.advance(4_000);
    const newer = stoppedFault('main', 'revoked');
    refusals.note('main', newer);
    clock.advance(4_999);
    expect(refused()).toBe(newer);
  });

  it('concerns its own partner account, and no other kind of fault', () => {
    const { refusals, refused } = setUp();
    refusals.note('main', stoppedFault('main', 'revoked'));
    refusals.note('other', new PartnerError('transient', 'down', { retryAfterMs: 60_000 }));

    expect(refused()?.message).toContain('main is stopped: revoked');
    expect(refused('other')).toBeUndefined();
  });
});

describe('a pause as a fault', () => {
  it('is never over at once, though its end has come', () => {
    expect(pausedFault('main', 'tired', -5).retryAfterMs).toBe(1);
  });
});
