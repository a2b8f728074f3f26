import { describe, expect, it } from 'vitest';
import { ShapeError } from '../../../shared/contract/checks.ts';
import type { RefreshOutcome, Rejection } from '../../../shared/contract/invocations.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { CachedAccounts } from '../../../shared/partner-api/cached-rows.ts';
import { createTokenSource, type TokenSourceOptions } from '../../../shared/partner-api/token-source.ts';
import { stopped, tokenHold } from '../../helpers/holds.ts';
import { faultOf, holdsOf } from '../../helpers/partner-api/fixtures.ts';
import { createVirtualClock, startMs } from '../../helpers/partner-api/virtual-clock.ts';
import { tokenPair } from '../../helpers/records.ts';

const deadlineMs = startMs + 30_000;

/** A secret that can be changed, a requester that answers by script, and a source over both. */
function setUp(options: Partial<TokenSourceOptions> = {}) {
  const clock = createVirtualClock();
  const asked: string[] = [];
  const outcomes: (RefreshOutcome | (() => Promise<RefreshOutcome>))[] = [];
  const state = {
    version: 1,
    lifetimeMs: 3_600_000,
    isThere: true,
    /** Of the secret. */
    reads: 0,
    /** Of the account's row. */
    looks: 0,
    /** The contents of the row, if they differ from the secret. */
    row: {} as Partial<PartnerAccount>,
  };
  const rowOf = (name: string): PartnerAccount => ({
    ...{ name, generation: 1, connectedAt: '2026-11-20T12:00:00Z' },
    token: { version: String(state.version), expiresAt: 0, usedAt: 0 },
    ...state.row,
  });
  const accounts = new CachedAccounts(
    {
      async read(name) {
        state.looks += 1;
        return rowOf(name);
      },
      list: async () => [rowOf('main')],
      change: () => Promise.reject(new Error('nothing is to be written')),
    },
    clock,
  );
  const pair = () =>
    tokenPair({
      accessToken: new Secret(`access-${state.version}`),
      refreshToken: new Secret(`refresh-${state.version}`),
      scope: 'v2 read write',
      expiresAt: startMs + state.lifetimeMs,
      obtainedAt: startMs,
    });
  const renew = (): RefreshOutcome => {
    state.version += 1;
    state.lifetimeMs += 3_600_000;
    return { kind: 'renewed' };
  };
  const holds = holdsOf({ clock });
  const tokens = createTokenSource({
    holds,
    reader: {
      async read() {
        state.reads += 1;
        return state.isThere ? { pair: pair(), version: String(state.version) } : undefined;
      },
    },
    requester: {
      async refresh({ rejectedVersion, because }) {
        asked.push(`${rejectedVersion} ${because}`);
        const outcome = outcomes.shift() ?? renew();
        return typeof outcome === 'function' ? outcome() : outcome;
      },
    },
    accounts,
    clock,
    ...options,
  });
  const current = async (name: string, generation: number, untilMs: number) =>
    tokens.current(name, generation, untilMs, 'a');
  const source = {
    current,
    /** What a request does whose token was rejected. */
    renewed(name: string, generation: number, version: string, because: Rejection, untilMs: number) {
      tokens.reject(name, version, because);
      return current(name, generation, untilMs);
    },
  };
  const revealed = async (found: Promise<{ token: Secret; version: string }>) => (await found).token.reveal();
  return { clock, asked, outcomes, state, accounts, tokens, source, renew, revealed };
}

describe('the current token', () => {
  it('is read once and kept', async () => {
    const { source, state, revealed } = setUp();

    await Promise.all([source.current('main', 1, deadlineMs), source.current('main', 1, deadlineMs)]);

    expect(await revealed(source.current('main', 1, deadlineMs))).toBe('access-1');
    expect(state.reads).toBe(1);
  });

  it('is kept for each partner account apart', async () => {
    const { source, state } = setUp();

    await source.current('main', 1, deadlineMs);
    await source.current('other', 1, deadlineMs);

    expect(state.reads).toBe(2);
  });

  it('is looked for in the row every few seconds, and its secret read once for each version', async () => {
    const { source, state, clock, revealed } = setUp();
    for (let look = 0; look < 30; look += 1) {
      await Promise.all([source.current('main', 1, deadlineMs), source.current('main', 1, deadlineMs)]);
      clock.advance(5_001);
    }
    expect(state).toMatchObject({ reads: 1, looks: 30 });

    state.version = 2;
    expect(await revealed(source.current('main', 1, deadlineMs))).toBe('access-2');
    expect(state.reads).toBe(2);
  });

  it('needs no look of its own where somebody else has just read the row', async () => {
    const { source, state, accounts, clock } = setUp();
    await accounts.list();
    await source.current('main', 1, deadlineMs);
    expect(state.looks).toBe(0);

    clock.advance(5_001);
    await accounts.read('main');
    await source.current('main', 1, deadlineMs);
    expect(state).toMatchObject({ looks: 1, reads: 1 });
  });

  it('is not used any more from five seconds after another version took its place, however long it would live', async () => {
    const { source, state, clock, revealed } = setUp();
    await source.current('main', 1, deadlineMs);
    state.version = 2;

    clock.advance(3_000);
    expect(await revealed(source.current('main', 1, deadlineMs))).toBe('access-1');
    clock.advance(2_001);
    expect(await revealed(source.current('main', 1, deadlineMs))).toBe('access-2');
  });

  it('is not used any more from five seconds after the account was disconnected', async () => {
    const { source, state, clock } = setUp();
    await source.current('main', 1, deadlineMs);
    state.row = { token: undefined, ...stopped('disconnected') } as never;
    clock.advance(5_001);

    expect((await faultOf(source.current('main', 1, deadlineMs))).code).toBe('account-stopped');
  });

  it('is never given for another generation than its own', async () => {
    const { source, state, asked, revealed } = setUp();
    await source.current('main', 1, deadlineMs);
    state.version = 2;
    state.row = { generation: 2 };

    // Whoever asks for a newer generation than is known has the row read again at once.
    expect(await revealed(source.current('main', 2, deadlineMs))).toBe('access-2');
    expect(await faultOf(source.current('main', 1, deadlineMs))).toMatchObject({
      ...{ code: 'generation-over', retryAfterMs: 5_000 },
    });
    expect(await faultOf(source.renewed('main', 1, '1', 'token-rejected', deadlineMs))).toMatchObject({
      code: 'generation-over',
    });
    expect(asked).toEqual([]);
  });

  it('is used only when the secret shows the version that the row names', async () => {
    const { source, state, asked, clock, revealed } = setUp();
    state.row = { token: { version: '2', expiresAt: 0, usedAt: 0 } };

    const token = revealed(source.current('main', 1, deadlineMs));
    await clock.run(startMs + 700);
    state.version = 2;
    await clock.run();

    expect(await token).toBe('access-2');
    expect(asked).toEqual([]);
  });

  it('stays the very same object while its version does', async () => {
    const { source, clock } = setUp();
    const first = await source.current('main', 1, deadlineMs);
    clock.advance(300_000);

    expect((await source.current('main', 1, deadlineMs)).token).toBe(first.token);
  });

  it('is renewed first when it has run out, without burning a request', async () => {
    const { source, state, asked, revealed } = setUp();
    state.lifetimeMs = 0;

    expect(await revealed(source.current('main', 1, deadlineMs))).toBe('access-2');
    expect(asked).toEqual(['1 expired']);
  });

  it('that ran out here may have been renewed elsewhere: then nobody is asked', async () => {
    const { source, state, asked, clock, renew, revealed } = setUp();
    await source.current('main', 1, deadlineMs);
    clock.advance(state.lifetimeMs);
    renew();

    expect(await revealed(source.current('main', 1, deadlineMs))).toBe('access-2');
    expect(asked).toEqual([]);
  });

  it('is waited for until the deadline where there are no credentials', async () => {
    const { source, state, clock } = setUp();
    state.isThere = false;

    const fault = faultOf(source.current('main', 1, deadlineMs));
    await clock.run();
    expect((await fault).code).toBe('transient');
  });

  it('is a fault of the state where the secret is half-written', async () => {
    const reader = {
      read: () => Promise.reject(new ShapeError('secret', [{ path: 'scope', expected: 'text' }])),
    };
    const { source } = setUp({ reader });

    expect((await faultOf(source.current('main', 1, deadlineMs))).code).toBe('malformed-state');
  });
});

describe('a token at the moment of sending', () => {
  it.each<[string, { version?: number; row?: Partial<PartnerAccount> }, string]>([
    ['the account was given to another user', { row: { generation: 2 } }, 'generation-over'],
    ['it was disconnected', { row: stopped('disconnected') }, 'account-stopped'],
    [
      'an operator paused it',
      { row: { holds: [{ kind: 'operator', who: 'ann', since: startMs }] } },
      'operator-paused',
    ],
  ])('is refused when %s more than five seconds ago', async (_case, change, code) => {
    const { source, state, clock } = setUp();
    await source.current('main', 1, deadlineMs);
    Object.assign(state, change);
    clock.advance(5_001);

    expect((await faultOf(source.current('main', 1, deadlineMs))).code).toBe(code);
  });

  it('is given without waiting while the row is young', async () => {
    const { tokens, source } = setUp();
    await source.current('main', 1, deadlineMs);

    expect(tokens.current('main', 1, deadlineMs, 'a')).toMatchObject({ version: '1' });
  });

  it('is refused when reading the row takes longer than it may be old', async () => {
    const { accounts, source, clock } = setUp();
    accounts.read = async () => {
      clock.advance(5_001);
      return undefined;
    };

    expect((await faultOf(source.current('main', 1, deadlineMs))).code).toBe('transient');
  });

  it('comes from a row that is read again after the clock was set back', async () => {
    const { source, state, clock } = setUp();
    await source.current('main', 1, deadlineMs);
    clock.advance(-3_600_000);
    await source.current('main', 1, deadlineMs);

    expect(state.looks).toBe(2);
  });
});

describe('a rejected token', () => {
  it('is renewed once for all who met it', async () => {
    const { source, asked, revealed } = setUp();
    await source.current('main', 1, deadlineMs);

    const all = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        revealed(source.renewed('main', 1, '1', 'token-rejected', deadlineMs + i)),
      ),
    );

    expect(new Set(all)).toEqual(new Set(['access-2']));
    expect(asked).toHaveLength(1);
  });

  it('was replaced already: nobody is asked', async () => {
    const { source, asked, renew, revealed } = setUp();
    await source.current('main', 1, deadlineMs);
    renew();

    expect(await revealed(source.renewed('main', 1, '1', 'token-rejected', deadlineMs))).toBe('access-2');
    expect(asked).toEqual([]);
  });

  it('that comes late finds the token renewed meanwhile', async () => {
    const { source, asked, revealed } = setUp();
    await source.current('main', 1, deadlineMs);
    await source.renewed('main', 1, '1', 'token-rejected', deadlineMs);

    expect(await revealed(source.renewed('main', 1, '1', 'token-rejected', deadlineMs))).toBe('access-2');
    expect(asked).toHaveLength(1);
  });

  it('is waited for while somebody else renews it', async () => {
    const { source, clock, outcomes, asked, renew, revealed } = setUp();
    const busy = { kind: 'busy', retryAfterMs: 800 } as const;
    outcomes.push(busy, async () => {
      renew();
      return busy;
    });

    const found = revealed(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));
    await clock.run();

    expect(await found).toBe('access-2');
    expect(asked).toHaveLength(2);
    expect(clock.now() - startMs).toBe(1_600);
  });

  it('is waited for until the deadline, and no longer', async () => {
    const { source, clock, outcomes } = setUp();
    for (let i = 0; i < 100; i += 1) outcomes.push({ kind: 'busy', retryAfterMs: 500 });

    const fault = faultOf(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));
    await clock.run();

    expect((await fault).code).toBe('transient');
    expect(clock.now()).toBeLessThan(deadlineMs);
  });

  it('is looked at again when it was said to be renewed and is not yet', async () => {
    const { source, clock, outcomes, renew, revealed } = setUp();
    outcomes.push({ kind: 'renewed' });

    const found = revealed(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));
    await clock.run(startMs + 100);
    renew();
    await clock.run();

    expect(await found).toBe('access-2');
  });

  it('is let go by a caller with less time, while others wait on', async () => {
    const { source, clock, outcomes, renew, revealed } = setUp();
    await source.current('main', 1, deadlineMs);
    outcomes.push(async () => {
      await clock.sleep(2_000);
      return renew();
    });

    const patient = revealed(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));
    const hurried = faultOf(source.renewed('main', 1, '1', 'token-rejected', startMs + 1_000));
    await clock.run();

    expect((await hurried).code).toBe('transient');
    expect(await patient).toBe('access-2');
  });

  it('is renewed by a caller with more time when the first one ran out of it', async () => {
    const { source, clock, outcomes, asked, revealed } = setUp();
    outcomes.push({ kind: 'busy', retryAfterMs: 1_200 }, { kind: 'busy', retryAfterMs: 1_200 });

    const hurried = faultOf(source.renewed('main', 1, '1', 'token-rejected', startMs + 1_000));
    const patient = revealed(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));
    await clock.run();

    expect((await hurried).code).toBe('transient');
    expect(await patient).toBe('access-2');
    expect(asked).toHaveLength(3);
  });

  it.each([
    [{ kind: 'stopped', reason: 'refresh-token-rejected' }, 'account-stopped', undefined],
    [{ kind: 'paused', untilMs: startMs + 60_000, reason: 'retry' }, 'account-paused', 60_000],
    [{ kind: 'failed', fault: 'client-rejected', reason: 'x' }, 'client-rejected', undefined],
    [{ kind: 'failed', fault: 'malformed-state', reason: 'x' }, 'malformed-state', undefined],
    [{ kind: 'failed', fault: 'transient', reason: 'x' }, 'transient', undefined],
    [{ kind: 'failed', fault: 'invalid-request', reason: 'x' }, 'transient', undefined],
    [{ kind: 'failed', fault: 'contract-broken', reason: 'x' }, 'transient', undefined],
    [{ kind: 'failed', fault: 'never-heard-of', reason: 'x' }, 'transient', undefined],
  ] as [RefreshOutcome, string, number | undefined][])(
    'with outcome %j is %s',
    async (outcome, code, wait) => {
      const { source, outcomes } = setUp();
      outcomes.push(outcome);

      const fault = await faultOf(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));

      expect(fault).toMatchObject({ code, retryAfterMs: wait });
      expect(fault.policy.deadLettered).toBe('by-age');
    },
  );

  it('is a passing fault when nobody can be asked', async () => {
    const { source, outcomes } = setUp();
    outcomes.push(() => Promise.reject(new Error('no such function')));

    expect((await faultOf(source.renewed('main', 1, '1', 'token-rejected', deadlineMs))).code).toBe(
      'transient',
    );
  });

  it('of a stopped account is not asked about by every message', async () => {
    const { source, outcomes, asked, state } = setUp();
    outcomes.push(async () => {
      state.row = stopped('refresh-token-rejected');
      return { kind: 'stopped', reason: 'refresh-token-rejected' };
    });
    const meet = () => faultOf(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));

    for (let i = 0; i < 10; i += 1) expect((await meet()).code).toBe('account-stopped');
    expect(asked).toHaveLength(1);
    expect(state.looks).toBeLessThan(4);
  });

  it('of a stopped account goes on soon after it was connected again', async () => {
    const { source, outcomes, clock, renew, revealed } = setUp();
    outcomes.push({ kind: 'stopped', reason: 'x' });
    await faultOf(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));
    renew();
    clock.advance(5_000);

    expect(await revealed(source.current('main', 1, deadlineMs))).toBe('access-2');
  });

  it('of an account that is known to wait is not asked about at all', async () => {
    const inNeed = setUp();
    inNeed.state.row = stopped('scope-insufficient');
    const paused = setUp();
    paused.state.row = { holds: [tokenHold(startMs + 9_000)] };

    const faults = await Promise.all(
      [inNeed, paused].map(({ source }) =>
        faultOf(source.renewed('main', 1, '1', 'token-rejected', deadlineMs)),
      ),
    );

    expect(faults).toMatchObject([
      { code: 'account-stopped' },
      { code: 'account-paused', retryAfterMs: 9_000 },
    ]);
    expect([...inNeed.asked, ...paused.asked]).toEqual([]);
  });

  it('of an account that is known to wait is not looked up again by every message', async () => {
    const { source, state } = setUp();
    state.row = { holds: [tokenHold(startMs + 9_000)] };
    const ask = () => faultOf(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));

    for (let message = 0; message < 10; message += 1) await ask();

    expect(state.looks).toBe(1);
  });

  it('of an account that has begun to wait since it was looked at is not asked about either', async () => {
    const { source, state, asked, revealed } = setUp();
    await revealed(source.current('main', 1, deadlineMs));
    state.row = { holds: [tokenHold(startMs + 9_000)] };

    const fault = await faultOf(source.renewed('main', 1, '1', 'token-rejected', deadlineMs));

    expect(fault).toMatchObject({ code: 'account-paused', retryAfterMs: 9_000 });
    expect(asked).toEqual([]);
  });

  it('for want of scope says so to the requester', async () => {
    const { source, asked, outcomes } = setUp();
    outcomes.push({ kind: 'stopped', reason: 'scope-insufficient' });

    await faultOf(source.renewed('main', 1, '1', 'scope-insufficient', deadlineMs));

    expect(asked).toEqual(['1 scope-insufficient']);
  });
});
