import { expect, it, vi } from 'vitest';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import type { RefreshOutcome, Rejection } from '../../../../shared/contract/invocations.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createCachedAccounts } from '../../../../shared/partner-api/cached-rows.ts';
import { createTokenSource } from '../../../../shared/partner-api/token-source.ts';
import { stopped, tokenHold } from '../../../helpers/holds.ts';
import { faultOf, holdsOf } from '../../../helpers/partner-api/fixtures.ts';
import { createVirtualClock, startMs } from '../../../helpers/partner-api/virtual-clock.ts';
import { tokenPair } from '../../../helpers/records.ts';

const farMs = startMs + 30_000;

/** A secret that can be changed, a refresh-token stage that answers by script, and a source over both. */
function setUp() {
  const clock = createVirtualClock();
  const asked: string[] = [];
  /** What the stage is asked for, and until when. */
  const requests: object[] = [];
  const outcomes: (RefreshOutcome | (() => Promise<RefreshOutcome>))[] = [];
  const state = {
    version: 1,
    expiresAt: startMs + 3_600_000,
    isThere: true,
    reads: 0,
    rowReads: 0,
    /** The contents of the row, if they differ from the secret. */
    row: {} as Partial<PartnerAccount>,
  };
  const rowOf = (name: string): PartnerAccount => ({
    ...{ name, generation: 1, connectedAt: '2026-11-20T12:00:00Z' },
    token: { version: String(state.version), expiresAt: 0, usedAt: 0 },
    ...state.row,
  });
  const rows = {
    async read(name: string): Promise<PartnerAccount | undefined> {
      state.rowReads += 1;
      return rowOf(name);
    },
    list: async () => [rowOf('main')],
    change: (_name: string, _change: (row: PartnerAccount) => PartnerAccount | undefined) =>
      Promise.reject<PartnerAccount | undefined>(new Error('nothing is to be written')),
  };
  const partnerAccounts = createCachedAccounts(rows, clock);
  const reader = {
    async read(_name: string, _version?: string) {
      state.reads += 1;
      const accessToken = new Secret(`access-${state.version}`);
      const pair = tokenPair({ accessToken, expiresAt: state.expiresAt });
      return state.isThere ? { pair, version: String(state.version) } : undefined;
    },
  };
  const renew = (): RefreshOutcome => {
    state.version += 1;
    state.expiresAt += 3_600_000;
    return { kind: 'renewed' };
  };
  const holds = holdsOf({ clock });
  const tokens = createTokenSource({
    ...{ partnerAccounts, reader, clock, holds },
    requester: {
      async refresh({ partnerAccount, rejectedVersion, because }, { deadlineMs }) {
        asked.push(`${rejectedVersion} ${because}`);
        requests.push([partnerAccount, deadlineMs]);
        const outcome = outcomes.shift() ?? renew();
        return typeof outcome === 'function' ? outcome() : outcome;
      },
    },
  });
  const find = async (generation = 1, untilMs = farMs, rejected?: { version: string; fault: BridgeFault }) =>
    tokens.current({
      ...{ partnerAccount: 'main', generation, deadlineMs: untilMs },
      ...{ resource: 'a', isNext: true, rejected },
    });
  const current = async (generation?: number) => (await find(generation)).token.reveal();
  /** What a request does whose token was rejected. */
  const renewed = async (untilMs = farMs, because: Rejection = 'token-rejected') => {
    tokens.reject('main', '1', because);
    return (await find(1, untilMs)).token.reveal();
  };
  return {
    ...{ clock, asked, requests, outcomes, state, rows, partnerAccounts, reader, holds, tokens },
    ...{ find, current, renewed, renew },
  };
}

it('the current token is one object a version, its secret read once', async () => {
  const { find, state, clock } = setUp();
  const found = await Promise.all([find(), find()]);
  for (let time = 0; time < 30; time += 1) {
    clock.advance(5_001);
    found.push(...(await Promise.all([find(), find()])));
  }

  expect(new Set(found.map(({ token }) => token)).size).toBe(1);
  expect(state).toMatchObject({ reads: 1, rowReads: 31 });
});

it('a listed row needs no read, but one after the clock was set back', async () => {
  const { current, state, partnerAccounts, clock } = setUp();
  await partnerAccounts.list();
  await current();
  expect(state.rowReads).toBe(0);

  clock.advance(-3_600_000);
  await current();
  expect(state).toMatchObject({ rowReads: 1, reads: 1 });
});

it('the current token waits until the secret shows the row’s version', async () => {
  const { current, state, asked, clock } = setUp();
  state.row = { token: { version: '2', expiresAt: 0, usedAt: 0 } };

  const token = current();
  await clock.run(startMs + 700);
  state.version = 2;
  await clock.run();

  expect(await token).toBe('access-2');
  expect(asked).toEqual([]);
});

it('an expired token is renewed before use unless another process did', async () => {
  const { current, asked, clock, renew } = setUp();
  await current();
  clock.advance(3_600_000);
  renew();
  expect(await current()).toBe('access-2');
  expect(asked).toEqual([]);

  clock.advance(3_600_000);
  expect(await current()).toBe('access-3');
  expect(asked).toEqual(['2 expired']);
});

it('a token is used as long as the row says when its pair came again', async () => {
  const { current, clock, state, asked } = setUp();
  state.row = { token: { version: '1', expiresAt: startMs + 7_200_000, usedAt: 0 } };
  await current();
  clock.advance(3_600_000);

  expect(await current()).toBe('access-1');
  expect(asked).toEqual([]);
});

it('a renewed token is used until rejected although this clock disagrees', async () => {
  const { current, tokens, state, asked, outcomes } = setUp();
  state.expiresAt = startMs - 1;
  const renewExpired = async (): Promise<RefreshOutcome> => {
    state.version += 1;
    return { kind: 'renewed' };
  };
  outcomes.push(renewExpired, renewExpired);

  expect([await current(), await current()]).toEqual(['access-2', 'access-2']);
  tokens.reject('main', '2', 'token-rejected');
  expect(await current()).toBe('access-3');
  expect(asked).toEqual(['1 expired', '2 token-rejected']);
});

it.each<[string, string, (world: ReturnType<typeof setUp>) => void]>([
  [
    'there is no secret until the deadline',
    'transient',
    ({ state }) => {
      state.isThere = false;
    },
  ],
  [
    'the secret is half-written',
    'malformed-state',
    ({ reader }) => {
      const error = new ShapeError('secret', [{ path: 'scope', expected: 'text' }]);
      reader.read = () => Promise.reject(error);
    },
  ],
  [
    'reading the row takes longer than it may be old',
    'transient',
    ({ rows, clock }) => {
      rows.read = async () => void clock.advance(5_001) as undefined;
    },
  ],
])('the current token is a fault when %s', async (_when, code, prepare) => {
  const world = setUp();
  prepare(world);

  const fault = faultOf(world.current());
  await world.clock.run();

  expect((await fault).code).toBe(code);
});

it('a rejected token is renewed once for all requests, late ones too', async () => {
  const { current, renewed, asked } = setUp();
  await current();

  const all = await Promise.all(Array.from({ length: 10 }, (_, index) => renewed(farMs + index)));

  expect(new Set([...all, await renewed()])).toEqual(new Set(['access-2']));
  expect(asked).toEqual(['1 token-rejected']);
});

it('a rejected token waits until the secret shows the renewed token', async () => {
  const { renewed, clock, outcomes, state } = setUp();
  outcomes.push(async () => {
    state.row = { token: { version: '2', expiresAt: 0, usedAt: 0 } };
    return { kind: 'renewed' };
  });

  const found = renewed();
  await clock.run(startMs + 100);
  state.version = 2;
  await clock.run();

  expect(await found).toBe('access-2');
});

it('a rejected token’s replacement is renewed when it is rejected, too', async () => {
  const { current, tokens, asked, clock } = setUp();
  for (const version of ['1', '2', '3']) {
    await current();
    tokens.reject('main', version, 'token-rejected');
    clock.advance(1_000);
  }

  expect(await current()).toBe('access-4');
  expect(asked).toEqual(['1 token-rejected', '2 token-rejected', '3 token-rejected']);
});

it('a rejected token is used until its renewal is due, with the fault', async () => {
  const { current, tokens, find, asked, clock, state, partnerAccounts } = setUp();
  const renewal = { at: clock.now(), forMs: 10_000 };
  state.row = { token: { version: '1', expiresAt: 0, usedAt: 0 }, renewal };
  await current();
  expect([tokens.mayRenew('main', '1'), tokens.mayRenew('main', '0')]).toEqual([false, true]);
  tokens.reject('main', '1', 'token-rejected');

  expect(await current()).toBe('access-1');
  tokens.reject('main', '1', 'token-rejected');
  const fault = new BridgeFault('token-rejected', 'answered 401');
  expect(await faultOf(find(1, farMs, { version: '1', fault }))).toBe(fault);
  expect(asked).toEqual([]);

  clock.advance(10_000);
  await partnerAccounts.read('main');
  expect(tokens.mayRenew('main', '1')).toBe(true);
  state.row = {};
  expect(await current()).toBe('access-2');
  expect(asked).toEqual(['1 token-rejected']);
});

it('waits for a renewal stop growing when an answer is good with its token', async () => {
  const { tokens, rows, clock, current, state } = setUp();
  const renewal = { at: clock.now(), forMs: 40_000 };
  state.row = { token: { version: '1', expiresAt: 0, usedAt: 0 }, renewal };
  await current();
  const written: unknown[] = [];
  rows.change = async (name, change) => {
    const row = await rows.read(name);
    written.push(row && change(row));
    return row;
  };

  await tokens.helped('main', 'another');
  await tokens.helped('main', '1');
  // Another process has stored the next token since the row was cached.
  state.row = { token: { version: '2', expiresAt: 0, usedAt: 0 }, renewal };
  await tokens.helped('main', '1');
  // The last renewal has failed, and the token before it goes on.
  clock.advance(5_001);
  state.row = {
    token: { version: '1', expiresAt: 0, usedAt: 0 },
    renewal: { ...renewal, fault: 'transient' },
  };
  await current();
  await tokens.helped('main', '1');

  expect(written).toMatchObject([{ renewal: { at: renewal.at, forMs: 5_000 } }, undefined]);
});

it('each request waits for a rejected token until its own deadline', async () => {
  const { current, renewed, clock, outcomes, renew } = setUp();
  await current();
  outcomes.push(async () => {
    await clock.sleep(2_000);
    return renew();
  });
  const timed = async (found: Promise<unknown>) => [await found, clock.now() - startMs];

  const patient = timed(renewed());
  const hurried = timed(faultOf(renewed(startMs + 1_000)));
  const inTime = timed(renewed(startMs + 20_000));
  await clock.run();

  expect(await hurried).toMatchObject([{ code: 'transient', retryAfterMs: 500 }, 1_000]);
  expect([await patient, await inTime]).toEqual([
    ['access-2', 2_000],
    ['access-2', 2_000],
  ]);
});

it.each<[string, Partial<PartnerAccount>, string, number | undefined]>([
  ['a stop', stopped('refresh-token-rejected'), 'account-stopped', undefined],
  ['a hold', { holds: [tokenHold(startMs + 60_000)] }, 'account-paused', 60_000],
])('a renewal that ends with %s fails as the account’s row says', async (_what, row, code, retryAfterMs) => {
  const { renewed, outcomes, asked, state } = setUp();
  // Too small a scope is reported although the next renewal is not due.
  state.row = { renewal: { at: startMs, forMs: 60_000 } };
  outcomes.push(async () => {
    state.row = row;
    return { kind: 'held' };
  });

  const fault = await faultOf(renewed(farMs, 'scope-insufficient'));

  expect([fault.code, fault.retryAfterMs]).toEqual([code, retryAfterMs]);
  expect(asked).toEqual(['1 scope-insufficient']);
});

it.each<[RefreshOutcome | Error, string]>([
  [{ kind: 'failed', fault: 'client-rejected', reason: 'x' }, 'client-rejected'],
  [{ kind: 'failed', fault: 'malformed-state', reason: 'x' }, 'malformed-state'],
  [{ kind: 'failed', fault: 'paused', reason: 'x' }, 'paused'],
  [{ kind: 'failed', fault: 'invalid-request', reason: 'x' }, 'transient'],
  [{ kind: 'failed', fault: 'contract-broken', reason: 'x' }, 'transient'],
  [{ kind: 'failed', fault: 'delivered-too-often', reason: 'x' }, 'transient'],
  [{ kind: 'failed', fault: 'never-heard-of', reason: 'x' }, 'transient'],
  [new Error('no such function'), 'transient'],
  [new BridgeFault('invalid-request', 'no such function'), 'transient'],
])('a renewal answered by %j is %s, which dead-letters no advert', async (outcome, code) => {
  const { renewed, outcomes, asked } = setUp();
  outcomes.push(outcome instanceof Error ? () => Promise.reject(outcome) : outcome);

  const fault = await faultOf(renewed(farMs, 'scope-insufficient'));

  expect(fault.code).toBe(code);
  expect(fault.message).toMatch(/^token of partner account main: (x|no such function|unexpected Error)$/);
  expect(asked).toEqual(['1 scope-insufficient']);
  expect(['by-age', 'never']).toContain(fault.policy.deadLettered);
});

it.each<[string, Partial<PartnerAccount>, string]>([
  ['stopped', stopped('scope-insufficient'), 'account-stopped'],
  ['on hold', { holds: [tokenHold(startMs + 9_000)] }, 'account-paused'],
])('a token of an account that is %s is not renewed or looked up again', async (_how, row, code) => {
  const { current, renewed, state, asked } = setUp();
  await current();
  state.row = row;

  for (let message = 0; message < 10; message += 1) expect((await faultOf(renewed())).code).toBe(code);
  expect(asked).toEqual([]);
  expect(state.rowReads).toBe(2);
});

it.each<[string, number | undefined, number | undefined, number, string, number]>([
  ['is used with the row of its generation', 1, 1, 1, 'access-1', 0],
  ['is used for 5 s after the account has another generation', 1, 2, 1, 'access-1', 0],
  ['is used with the next generation, whose row is looked for', 1, 2, 2, 'access-1', 1],
  ['is not used for a generation to come', 1, 1, 2, 'generation-over', 1],
  ['is not used for a generation that is over', 2, 2, 1, 'generation-over', 1],
  ['is not used for an account that is forgotten', undefined, undefined, 1, 'generation-over', 1],
])('a token %s', async (_rule, cached, generation, asked, outcome, looks) => {
  const { state, rows, partnerAccounts, find } = setUp();
  const { read } = rows;
  rows.read = async (name) => {
    const row = await read(name);
    return state.row.generation ? row : undefined;
  };
  if (cached) state.row = { generation: cached };
  await partnerAccounts.read('main');
  state.row = generation ? { generation } : {};
  const before = state.rowReads;

  const found = await find(asked).catch((fault: BridgeFault) => fault);

  expect(state.rowReads - before).toBe(looks);
  if (!(found instanceof BridgeFault)) return expect(found.token.reveal()).toBe(outcome);
  expect(found).toMatchObject({ code: outcome, retryAfterMs: 5_000 });
});

it('a token is asked of the holds for what it is asked for', async () => {
  const { tokens, holds, state } = setUp();
  const ready = vi.spyOn(holds, 'ready');
  const asked = { partnerAccount: 'main', generation: 1, deadlineMs: farMs };

  await tokens.current({ ...asked, resource: 'main 7', isNext: false });
  await tokens.current({ ...asked, resource: 'main 8', isNext: true, isIll: true });
  const held = new BridgeFault('account-paused', 'held');
  ready.mockRejectedValueOnce(held);
  state.row = { token: { version: '2', expiresAt: 0, usedAt: 0 } };

  expect(await faultOf(tokens.current({ ...asked, resource: 'main 9', isNext: true }))).toBe(held);
  const account = expect.objectContaining({ name: 'main', generation: 1 });
  expect(ready.mock.calls).toEqual([
    [{ ...asked, resource: 'main 7', account, isNext: false }],
    [{ ...asked, resource: 'main 8', account, isNext: true, isIll: true }],
    [{ ...asked, resource: 'main 9', account, isNext: true }],
  ]);
  expect(state.reads).toBe(1);
});

const minute = 60_000;
it.each<[string, number, number, number, string[]]>([
  ['until its secret says', minute, 0, minute - 1, []],
  ['not from that moment on', minute, 0, minute, ['1 expired']],
  ['until its row says, if that is later', 0, minute, minute - 1, []],
  ['not from that moment on, too', 0, minute, minute, ['1 expired']],
  ['until its secret says, if that is later', minute, minute / 2, minute - 1, []],
])('a token is used %s', async (_rule, secretMs, rowMs, ageMs, renewals) => {
  const { current, state, clock, asked } = setUp();
  state.expiresAt = startMs + secretMs;
  const token = (version: number) => ({ version: `${version}`, expiresAt: startMs + rowMs, usedAt: 0 });
  state.row = { token: token(1) };
  clock.advance(ageMs);
  // The renewal stores the next version.
  Object.defineProperty(state, 'row', { get: () => ({ token: token(state.version) }) });

  await current();

  expect(asked).toEqual(renewals);
});

const last = { at: startMs, forMs: minute };
it.each<[string, Partial<PartnerAccount>, 'expired' | 'rejected', number, boolean]>([
  ['renewed when no renewal waits', {}, 'rejected', 0, true],
  ['used when it was rejected after its renewal', { renewal: last }, 'rejected', 0, false],
  ['used when it is old after its renewal', { renewal: last }, 'expired', minute - 1, false],
  ['renewed when the wait is over', { renewal: last }, 'rejected', minute, true],
  [
    'used when it was rejected and its renewal failed',
    { renewal: { ...last, fault: 'x' } },
    'rejected',
    0,
    false,
  ],
  ['renewed when it is old and its renewal failed', { renewal: { ...last, fault: 'x' } }, 'expired', 0, true],
])('a token is %s', async (_rule, row, how, afterMs, isRenewed) => {
  const { current, tokens, state, clock, asked } = setUp();
  state.row = row;
  if (how === 'expired') state.expiresAt = startMs;
  clock.advance(afterMs);
  // An older token is no reason to renew this one.
  tokens.reject('main', how === 'rejected' ? '1' : '0', 'token-rejected');

  await current();

  const because = how === 'rejected' ? 'token-rejected' : 'expired';
  expect(asked).toEqual(isRenewed ? [`1 ${because}`] : []);
});

it('a token that has to do needs no further look until it expires', async () => {
  const { tokens, current, find, state, clock, asked } = setUp();
  state.expiresAt = startMs + minute;
  state.row = { renewal: { at: startMs, forMs: minute } };
  tokens.reject('main', '1', 'token-rejected');
  // Not this one was rejected.
  const rejected = { version: '0', fault: new BridgeFault('token-rejected', 'answered 401') };
  expect((await find(1, farMs, rejected)).token.reveal()).toBe('access-1');
  const looks = state.rowReads;

  await current();
  expect([state.rowReads, state.reads]).toEqual([looks, 1]);

  clock.advance(minute);
  state.row = {};
  expect(await current()).toBe('access-2');
  expect(asked).toEqual(['1 expired']);
});

it('a renewed token is found by a look that begins after the renewal', async () => {
  const { current, renewed, clock, outcomes, rows, renew } = setUp();
  const slow = async () => {
    await clock.sleep(6_000);
    return renew();
  };
  outcomes.push(slow, { kind: 'renewed' });
  const first = renewed();
  await clock.run(startMs + 5_900);
  const { read } = rows;
  rows.read = async (name) => {
    const row = await read(name);
    await clock.sleep(300);
    return row;
  };
  const other = current();
  await clock.run();

  expect([await first, await other]).toEqual(['access-2', 'access-2']);
});

it.each([
  [500, 0, 1],
  [501, 500, 2],
])('a missing secret is read every 500 ms until the deadline (%i)', async (deadlineMs, endMs, looks) => {
  const { find, state, clock } = setUp();
  state.isThere = false;

  const fault = faultOf(find(1, startMs + deadlineMs));
  await clock.run();

  expect(await fault).toMatchObject({ code: 'transient', retryAfterMs: 500 });
  expect([clock.now() - startMs, state.rowReads, state.reads]).toEqual([endMs, looks, looks]);
});

it('the secrets of two accounts and two versions are read side by side', async () => {
  const { tokens, partnerAccounts, reader, state, clock } = setUp();
  reader.read = async (name, version = 'none') => {
    await clock.sleep(1_000);
    const pair = tokenPair({ accessToken: new Secret(`${name} ${version}`), expiresAt: farMs });
    return { pair, version };
  };
  const find = (partnerAccount: string) =>
    tokens.current({
      ...{ partnerAccount, generation: 1, deadlineMs: farMs, resource: 'a', isNext: true },
    });

  const found = [find('main'), find('shop')];
  await clock.run(startMs + 500);
  state.version = 2;
  await partnerAccounts.read('main');
  found.push(find('main'));
  await clock.run();

  const texts = (await Promise.all(found)).map(({ token }) => token.reveal());
  expect(texts).toEqual(['main 1', 'shop 1', 'main 2']);
  expect(clock.now()).toBe(startMs + 1_500);
});

it('a renewal is one for each account and reason, with its deadline', async () => {
  const { tokens, state, asked, requests, outcomes, clock, renew } = setUp();
  state.expiresAt = startMs;
  const slow = async () => {
    await clock.sleep(1_000);
    return state.version === 1 ? renew() : ({ kind: 'renewed' } as const);
  };
  outcomes.push(slow, slow, slow);
  const find = (partnerAccount: string) =>
    tokens.current({
      ...{ partnerAccount, generation: 1, deadlineMs: farMs, resource: 'a', isNext: true },
    });

  const found = [find('main'), find('main'), find('shop')];
  await clock.run(startMs + 1);
  tokens.reject('main', '1', 'scope-insufficient');
  found.push(find('main'));
  await clock.run();
  await Promise.all(found);

  expect(asked).toEqual(['1 expired', '1 expired', '1 scope-insufficient']);
  expect(requests).toEqual([
    ['main', farMs],
    ['shop', farMs],
    ['main', farMs],
  ]);
  // Nothing waits for a deadline any more.
  expect(clock.now()).toBeLessThan(startMs + 2_000);
});

it('an answer of 401 counts at the moment when no other token came of it', async () => {
  const { tokens, holds, clock } = setUp();
  const answered = vi.spyOn(holds, 'answered').mockResolvedValue();
  const fault = new BridgeFault('token-rejected', 'answered 401');

  await tokens.counts('main', 'main 7', fault);

  const evidence = { account: 'main', resource: 'main 7', fault, sentAt: clock.now() };
  expect(answered.mock.calls).toEqual([[evidence]]);
});

it('a good answer counts when its row is stored, or could not be', async () => {
  const { tokens, rows, clock, current, state } = setUp();
  state.row = { renewal: { at: startMs, forMs: 40_000 } };
  await current();
  await tokens.helped('main', '1');
  rows.change = async () => {
    await clock.sleep(1_000);
    return undefined;
  };

  const helped = tokens.helped('main', '1').then(() => clock.now());
  await clock.run();

  expect(await helped).toBe(startMs + 1_000);
});
