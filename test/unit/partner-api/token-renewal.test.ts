import { describe, expect, it } from 'vitest';
import type { RefreshOutcome, Rejection } from '../../../shared/contract/invocations.ts';
import { BridgeFault, faultPolicies } from '../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { createTokenSource } from '../../../shared/partner-api/token-source.ts';
import { freeHolds } from '../../helpers/holds.ts';
import { faultOf } from '../../helpers/partner-api/fixtures.ts';
import { createVirtualClock, startMs } from '../../helpers/partner-api/virtual-clock.ts';
import { partnerAccount, tokenPair } from '../../helpers/records.ts';

const farMs = startMs + 30_000;

/** A token source with one row and one secret, and a refresh stage whose result tests can set. */
function setUp() {
  const clock = createVirtualClock();
  const state = {
    version: 'a',
    lifetimeMs: 3_600_000,
    viewFails: false,
    asked: [] as { version: string; because: string; deadlineMs: number; atMs: number }[],
    refresh: async (): Promise<RefreshOutcome> => ({ kind: 'renewed' }),
  };
  const account = (): PartnerAccount =>
    partnerAccount({
      generation: 1,
      token: { version: state.version, expiresAt: 0, usedAt: 0 },
    });
  const tokens = createTokenSource({
    holds: freeHolds,
    clock,
    accounts: {
      async get() {
        if (state.viewFails) throw new Error('throttled');
        return account();
      },
      peek: () => undefined,
    },
    reader: {
      read: async () => ({
        version: state.version,
        pair: tokenPair({
          accessToken: new Secret(`token-${state.version}`),
          expiresAt: startMs + state.lifetimeMs,
        }),
      }),
    },
    requester: {
      refresh({ rejectedVersion: version, because }, { deadlineMs }) {
        state.asked.push({ version, because, deadlineMs, atMs: clock.now() - startMs });
        return state.refresh();
      },
    },
  });
  const renew = (version: string): RefreshOutcome => {
    state.version = version;
    return { kind: 'renewed' };
  };
  const source = {
    current: async (deadlineMs: number) => tokens.current('main', 1, deadlineMs, 'a'),
    renewed(version: string, because: Rejection, deadlineMs: number) {
      tokens.reject('main', version, because);
      return this.current(deadlineMs);
    },
  };
  const renewed = (deadlineMs: number) =>
    source.renewed('a', 'token-rejected', deadlineMs).then(({ version }) => version);
  return { clock, state, source, renew, renewed };
}

describe('a renewal that others share', () => {
  it('ends for a caller with as much time as it has itself', async () => {
    const { clock, state, renew, renewed } = setUp();
    state.refresh = async () => {
      await clock.sleep(2_000);
      return renew('b');
    };
    const both = [renewed(farMs), renewed(farMs)];
    await clock.run();

    expect(await Promise.all(both)).toEqual(['b', 'b']);
    expect(state.asked).toHaveLength(1);
  });

  it('is gone on with by a caller with more time than the one who began it', async () => {
    const { clock, state, renew, renewed } = setUp();
    state.refresh = async () => {
      state.refresh = async () => renew('b');
      return { kind: 'busy', retryAfterMs: 1_200 };
    };
    const hurried = faultOf(renewed(startMs + 1_000));
    const patient = renewed(farMs);
    await clock.run();

    expect(await hurried).toMatchObject({ code: 'transient', retryAfterMs: 1_200 });
    expect(await patient).toBe('b');
    expect(state.asked.map(({ deadlineMs }) => deadlineMs)).toEqual([startMs + 1_000, farMs]);
  });

  it('ends at once for a caller alone that has no time to wait, and says how long it would have to', async () => {
    const { clock, state, renewed } = setUp();
    state.refresh = async () => ({ kind: 'busy', retryAfterMs: 1_200 });

    const fault = await faultOf(renewed(startMs + 1_000));

    expect(fault).toMatchObject({ code: 'transient', retryAfterMs: 1_200 });
    expect(clock.now()).toBe(startMs);
  });

  it('is let go at the very deadline of a caller with less time, and leaves no timer behind otherwise', async () => {
    const { clock, state, renew, renewed } = setUp();
    state.refresh = async () => {
      await clock.sleep(2_000);
      return renew('b');
    };
    const patient = renewed(farMs);
    const hurried = faultOf(renewed(startMs + 1_000)).then((fault) => [
      fault.retryAfterMs,
      clock.now() - startMs,
    ]);
    const inTime = renewed(startMs + 20_000);
    await clock.run();

    expect(await hurried).toEqual([500, 1_000]);
    expect([await patient, await inTime]).toEqual(['b', 'b']);
    expect(clock.now() - startMs).toBe(2_000);
  });
});

describe('a token that has run out', () => {
  it('is renewed for that, and for its rejection where it was rejected before', async () => {
    const { clock, state, source, renew } = setUp();
    state.lifetimeMs = 0;
    state.refresh = async () => {
      state.lifetimeMs = 3_600_000;
      return renew('b');
    };
    expect((await source.current(farMs)).version).toBe('b');

    state.refresh = async () => ({ kind: 'failed', fault: 'transient', reason: 'down' });
    await faultOf(source.renewed('b', 'scope-insufficient', farMs));
    await faultOf(source.current(farMs));
    clock.advance(1);
    expect(state.asked).toMatchObject([
      { version: 'a', because: 'expired', deadlineMs: farMs },
      { version: 'b', because: 'scope-insufficient' },
      { version: 'b', because: 'scope-insufficient' },
    ]);
  });

  it('only by a clock that is ahead is used once it was renewed, until the service rejects it', async () => {
    const { state, source, renew } = setUp();
    state.lifetimeMs = -1;
    state.refresh = async () => renew(`${state.version}+`);

    const versions = [await source.current(farMs), await source.current(farMs)].map(({ version }) => version);
    await source.renewed('a+', 'token-rejected', farMs);

    expect(versions).toEqual(['a+', 'a+']);
    expect(state.asked.map(({ because }) => because)).toEqual(['expired', 'token-rejected']);
  });

  it('is not to be had where the row cannot be read', async () => {
    const { state, source } = setUp();
    state.viewFails = true;
    expect(await faultOf(source.current(farMs))).toMatchObject({ code: 'transient' });
  });

  it('is a fault of the stage where that cannot be reached, and dead-letters no advert', async () => {
    const { state, renewed } = setUp();
    state.refresh = () => Promise.reject(new BridgeFault('invalid-request', 'no such function'));
    const fault = await faultOf(renewed(farMs));

    expect(fault.message).toContain('no such function');
    expect(faultPolicies[fault.code].deadLettered).toBe('by-age');
  });

  it('is waited for a millisecond at least, and half a second where less is said', async () => {
    const { clock, state, renew, renewed } = setUp();
    state.refresh = async () => {
      state.refresh = async () => renew('b');
      return { kind: 'busy', retryAfterMs: 0 };
    };
    const found = renewed(farMs);
    await clock.run();

    expect(await found).toBe('b');
    expect(state.asked.map(({ atMs }) => atMs)).toEqual([0, 500]);
  });
});
