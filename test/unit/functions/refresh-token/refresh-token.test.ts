import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import type { RefreshDeps, TokenRefresh } from '../../../../functions/refresh-token/refresh-lock.ts';
import { createRefreshToken } from '../../../../functions/refresh-token/refresh-token.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import type { RefreshOutcome } from '../../../../shared/contract/invocations.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createPartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { holdOf, stopped, tokenHold } from '../../../helpers/holds.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const dayMs = 86_400_000;
let world: World;
beforeEach(async () => {
  world = await createWorld();
  world.service.grants.length = 0;
});

const version = async () => (await world.account())?.token?.version ?? '';
const refresh = async (
  change: Partial<TokenRefresh> = {},
  deps: RefreshDeps = world.tokenDeps,
  options = world.options(),
) => {
  const request = { partnerAccount: 'main', rejectedVersion: await version(), ...change };
  return createRefreshToken(deps).refresh({ because: 'token-rejected', ...request }, options);
};
const within = (ms: number) => ({ deadlineMs: world.clock.now() + ms });
const connect = (partnerAccount = 'main', refreshToken = 'theirs') =>
  world.connect.connect({ partnerAccount, refreshToken: new Secret(refreshToken) }, world.options());
const stored = async () => {
  const pair = (await world.state.vault.read('main'))?.pair;
  return [pair?.accessToken.reveal(), pair?.refreshToken.reveal(), pair?.scope];
};
const change = (changed: (account: PartnerAccount) => PartnerAccount) =>
  world.partnerAccounts.change('main', changed);
const refuse = (code: BridgeFault['code'], cause?: Error) => {
  world.service.state.tokens = () => {
    throw new BridgeFault(code, 'refused', { cause });
  };
};
const answer = (changed: object) => {
  world.service.state.tokens = () => ({
    ...{ access_token: 'access-new', refresh_token: 'refresh-new', expires_in: 86_400 },
    ...{ token_type: 'bearer', scope: 'v2 read write' },
    ...changed,
  });
};
const types = () => world.published().map((event) => event['detail-type']);
const attention = () => world.observer.counted(metrics.needsAttention);

it('a refresh stores the new pair and names its version in row and log', async () => {
  answer({});

  expect(await refresh()).toEqual({ kind: 'renewed' });

  expect(await stored()).toEqual(['access-new', 'refresh-new', 'v2 read write']);
  const tokenVersion = (await world.state.vault.read('main'))?.version;
  const now = world.clock.now();
  expect((await world.account())?.token).toEqual({
    ...{ version: tokenVersion, expiresAt: now + dayMs, usedAt: now },
  });
  expect((await world.account())?.refreshing).toBeUndefined();
  expect(world.observer.lines.at(-1)?.fields).toEqual({ partnerAccount: 'main', tokenVersion });
});

it('the lifetime counts from before the request, the use from its answer', async () => {
  const sentAt = world.clock.now();
  const client = {
    requestTokens: async (...call: Parameters<typeof world.service.requestTokens>) => ({
      ...(await world.service.requestTokens(...call)),
      receivedAt: sentAt + 3_000,
    }),
  };
  answer({ expires_in: 60 });

  await refresh({}, { ...world.tokenDeps, client });

  expect((await world.account())?.token).toMatchObject({
    ...{ expiresAt: sentAt + 60_000, usedAt: sentAt + 3_000 },
  });
});

const notSent: readonly [string, Partial<TokenRefresh>, () => unknown, RefreshOutcome][] = [
  ['of an unknown account', { partnerAccount: 'nobody' }, () => undefined, { kind: 'held' }],
  ['of an account whose secret is gone', {}, () => world.state.vault.remove('main'), { kind: 'held' }],
  [
    'of a stopped account',
    {},
    () => change((account) => ({ ...account, ...stopped('disconnected') })),
    { kind: 'held' },
  ],
  [
    'of an unused token of a stopped account',
    { because: 'unused' },
    () => change((account) => ({ ...account, ...stopped('disconnected') })),
    { kind: 'held' },
  ],
  ['of a version that was replaced', { rejectedVersion: 'older' }, () => undefined, { kind: 'renewed' }],
  [
    'of a secret that was edited by hand',
    {},
    () => world.state.editSecret('main', '{"accessToken": "x"'),
    { kind: 'failed', fault: 'malformed-pair', reason: expect.any(String) as never },
  ],
  [
    'for a wider scope, which no refresh brings',
    { because: 'scope-insufficient' },
    () => undefined,
    { kind: 'held' },
  ],
  [
    'of an account whose token is on hold',
    {},
    () => change((account) => ({ ...account, holds: [tokenHold(world.clock.now() + 60_000)] })),
    { kind: 'held' },
  ],
];
it.each(notSent)('no request is sent for a refresh %s', async (_what, request, prepare, outcome) => {
  const rejectedVersion = await version();
  await prepare();

  expect(await refresh({ rejectedVersion, ...request })).toEqual(outcome);
  expect(world.service.grants).toEqual([]);
});

it.each(['transient', 'rate-limited', 'paused', 'client-rejected'] as const)(
  'a refresh that fails as %s stops nobody, and is logged with its reason',
  async (fault) => {
    const cause = new Error('deep down');
    refuse(fault, cause);

    expect(await refresh()).toEqual({ kind: 'failed', fault, reason: 'refused' });

    expect(await world.account()).not.toHaveProperty('holds');
    expect(await world.account()).not.toHaveProperty('refreshing');
    const isBad = fault === 'client-rejected';
    expect(attention()).toBe(isBad ? 1 : 0);
    expect(world.observer.lines.at(-1)).toMatchObject({
      level: isBad ? 'error' : 'warn',
      fields: { partnerAccount: 'main', fault, reason: 'refused', error: cause },
    });
  },
);

it('a refresh takes no lock after a process stood still past its deadline', async () => {
  const write: RefreshDeps['partnerAccounts']['change'] = (...changed) => {
    world.clock.advance(60_001);
    return world.partnerAccounts.change(...changed);
  };
  const partnerAccounts = { ...world.partnerAccounts, change: write };

  expect(await refresh({}, { ...world.tokenDeps, partnerAccounts })).toMatchObject({ fault: 'account-busy' });
  expect(world.service.grants).toEqual([]);
});

it.each([
  ['8 s', 60_000, 7_500],
  ['the time that it has', 2_000, 1_500],
])('a refresh waits for another one for %s', async (_what, forMs, waitsMs) => {
  const began = world.clock.now();
  const refreshing = { holder: 'other', startedAt: began, until: began + 60_000 };
  await change((account) => ({ ...account, refreshing }));

  const outcome = await refresh({ because: 'expired' }, world.tokenDeps, within(forMs));

  expect(outcome).toMatchObject({ kind: 'failed', fault: 'account-busy' });
  expect(world.clock.now() - began).toBe(waitsMs);
});

it.each<[string, Partial<TokenRefresh>, () => unknown, string]>([
  ['its pair is gone', {}, () => world.state.vault.remove('main'), 'refresh-token-rejected'],
  [
    'its scope is too small, also while no renewal is due',
    { because: 'scope-insufficient' },
    () => change((account) => ({ ...account, renewal: { at: world.clock.now(), forMs: 60_000 } })),
    'scope-insufficient',
  ],
  [
    'its new token has too small a scope, and no time left',
    {},
    () => answer({ scope: 'v2 read', expires_in: 0 }),
    'scope-insufficient',
  ],
  [
    'the settings require more than its scope',
    {},
    () => Object.assign(world.tokenDeps.settings, { requiredScope: 'v2 more' }),
    'scope-insufficient',
  ],
])('an account is stopped when %s', async (_when, request, prepare, reason) => {
  const rejectedVersion = await version();
  await prepare();

  expect(await refresh({ rejectedVersion, ...request })).toEqual({ kind: 'held' });

  expect(holdOf(await world.account(), 'authorization')).toMatchObject({ reason });
  expect(types()).toEqual(['PartnerAuthorizationRequired']);
});

it('a pair that is not seen in the time that there is stops nobody', async () => {
  await world.state.vault.remove('main');

  const outcome = await refresh({ because: 'expired' }, world.tokenDeps, within(2_000));

  expect(outcome).toMatchObject({ kind: 'failed', fault: 'transient' });
  expect((await world.account())?.holds).toBeUndefined();
});

it('a pair that was stored and not named is named, without a request', async () => {
  const rejectedVersion = await version();
  const current = await world.state.vault.read('main');
  if (!current) expect.fail('no pair');
  const next = { ...current.pair, follows: rejectedVersion, expiresAt: world.clock.now() + 77 };
  const named = await world.state.vault.write('main', next);

  expect(await refresh({ rejectedVersion })).toEqual({ kind: 'renewed' });

  expect((await world.account())?.token).toMatchObject({ version: named, expiresAt: next.expiresAt });
  expect(world.service.grants).toEqual([]);
});

it('a pair is stored for the generation of the row, after the one before', async () => {
  const before = await version();
  const generation = 1 + ((await world.account())?.generation ?? 0);
  await change((account) => ({
    ...{ ...account, generation },
    ...(account.token && { token: { ...account.token, issuedFor: account.generation } }),
  }));

  expect(await refresh()).toEqual({ kind: 'renewed' });

  expect((await world.state.vault.read('main'))?.pair).toMatchObject({ generation, follows: before });
  expect((await world.account())?.token).not.toHaveProperty('issuedFor');
});

/** Answers, and lets this happen before the answer arrives. */
const answering = (happen: (call: number) => unknown, lateMs = 0): RefreshDeps => {
  let calls = 0;
  const client: RefreshDeps['client'] = {
    async requestTokens(...call) {
      calls += 1;
      await happen(calls);
      const received = await world.service.requestTokens(...call);
      return { ...received, receivedAt: received.receivedAt + lateMs };
    },
  };
  return { ...world.tokenDeps, client };
};
const takenByOther = () =>
  change((account) => ({
    ...account,
    refreshing: { holder: 'other', startedAt: 0, until: world.clock.now() + 60_000 },
  }));

it.each<[string, () => void]>([
  ['brings a pair', () => answer({})],
  ['brings a small scope', () => answer({ scope: 'v2' })],
  ['rejects the grant', () => refuse('grant-rejected')],
])('an answer that %s changes nothing when another process took over', async (_what, happen) => {
  happen();
  const [before, pair] = [await world.account(), await world.state.vault.read('main')];

  expect(await refresh({}, answering(takenByOther))).toEqual({ kind: 'renewed' });

  expect(await world.account()).toEqual({
    ...before,
    refreshing: expect.objectContaining({ holder: 'other' }),
  });
  expect((await world.state.vault.read('main'))?.version).toBe(pair?.version);
  expect(attention()).toBe(0);
});

it.each<[string, object]>([
  ['with a new token', {}],
  ['without a token', { access_token: undefined }],
  ['with a small scope', { scope: 'v2' }],
])('an answer %s reports nothing when another process took over', async (_what, changed) => {
  answer(changed);
  const write: RefreshDeps['vault']['write'] = async (...pair) => {
    await takenByOther();
    return world.state.vault.write(...pair);
  };
  const before = await version();

  const outcome = await refresh({}, { ...world.tokenDeps, vault: { ...world.state.vault, write } });

  expect(outcome).toEqual({ kind: 'renewed' });
  expect([attention(), await version()]).toEqual([0, before]);
  expect(world.observer.lines.filter(({ message }) => message === 'token refreshed')).toEqual([]);
});

it('a pair is stored although the row cannot be read at that moment', async () => {
  answer({});
  const read = () => Promise.reject(new Error('throttled'));
  const partnerAccounts = { ...world.partnerAccounts, read };

  expect(await refresh({}, { ...world.tokenDeps, partnerAccounts })).toEqual({ kind: 'renewed' });

  expect(await stored()).toContain('access-new');
});

/** First a token in its last seconds, with another refresh token; then the answers that follow. */
const answeringLastSeconds = (...then: (() => unknown)[]) => {
  const sentAt: number[] = [];
  const lastSeconds = () => answer({ access_token: 'access-old', refresh_token: 'refresh-2', expires_in: 2 });
  const deps = answering((call) => {
    sentAt.push(world.clock.now());
    return [lastSeconds, ...then][call - 1]?.();
  });
  return { deps, sentAt };
};

it('a refresh that brings a token in its last seconds asks again', async () => {
  const { deps, sentAt } = answeringLastSeconds(() => answer({}));
  const began = world.clock.now();

  expect(await refresh({ because: 'expired' }, deps)).toEqual({ kind: 'renewed' });

  expect(sentAt).toEqual([began, began + 3_000]);
  expect(world.service.grants.at(-1)).toMatchObject({ refresh_token: new Secret('refresh-2') });
  expect(await stored()).toContain('access-new');
  expect((await world.account())?.renewal).toEqual({ at: world.clock.now(), forMs: 5_000 });
});

it('the row names the old token until the new one is stored', async () => {
  const before = await version();
  let named = '';
  const { deps } = answeringLastSeconds(async () => {
    named = await version();
    answer({});
  });

  await refresh({}, deps);

  expect(named).toBe(before);
  // After a crash before it is named, it is found by this.
  expect((await world.state.vault.read('main'))?.pair.follows).toBe(before);
});

it.each<[string, number, () => unknown]>([
  ['fails', 60_000, () => refuse('transient')],
  ['has no time left', 3_000, () => undefined],
])('nothing is lost if the second request of a refresh %s', async (_what, ms, then) => {
  const { deps } = answeringLastSeconds(then);

  const outcome = await refresh({ because: 'expired' }, deps, within(ms));

  expect(outcome).toMatchObject({ kind: 'failed', fault: 'transient' });
  world.clock.advance(5_000);
  // The stored pair is found and named.
  answer({});
  expect(await refresh()).toEqual({ kind: 'renewed' });
  expect(await refresh()).toEqual({ kind: 'renewed' });
  expect(world.service.grants.at(-1)).toMatchObject({ refresh_token: new Secret('refresh-2') });
});

it.each<[string, number, number, string]>([
  ['of 5 s is used', 5, 0, 'renewed'],
  ['of less than 5 s counts as expired', 5, 1, 'held'],
  ['of 4 s counts as expired', 4, 0, 'held'],
])('a token %s when it comes again and again', async (_rule, expires_in, lateMs, outcome) => {
  const deps = answering((call) => answer({ access_token: `access-${call}`, expires_in }), lateMs);

  expect(await refresh({}, deps)).toEqual({ kind: outcome });

  expect(await stored()).toContain(outcome === 'held' ? 'access-2' : 'access-1');
});

it.each<[string, object, boolean]>([
  ['the same is not', {}, false],
  ['the same with another life is not', { expires_in: 60 }, false],
  ['another access token is', { access_token: 'other' }, true],
  ['another refresh token is', { refresh_token: 'other' }, true],
  ['another scope is', { scope: 'v2 read write more' }, true],
])('a pair is stored if it differs: %s', async (_what, changed, isStored) => {
  answer({});
  await refresh();
  const before = await version();
  world.clock.advance(10_000);
  answer(changed);

  expect(await refresh()).toEqual({ kind: 'renewed' });

  expect((await version()) !== before).toBe(isStored);
  const { expires_in = 86_400 } = changed as { expires_in?: number };
  expect((await world.account())?.token?.expiresAt).toBe(world.clock.now() + expires_in * 1_000);
});

it.each<[string, TokenRefresh['because'], number]>([
  ['twice as long as before', 'token-rejected', 80_000],
  ['twice as long, too, after an unused token', 'unused', 80_000],
  ['5 s after a token that lived to its end', 'expired', 5_000],
])('the next renewal waits %s', async (_what, because, forMs) => {
  await change((account) => ({ ...account, renewal: { at: 0, forMs: 40_000 } }));
  answer({});

  await refresh({ because });

  expect((await world.account())?.renewal).toEqual({ at: world.clock.now(), forMs });
});

const [well, ill] = [{ at: 0 }, { at: 0, fault: 'transient', reason: 'x' }];
const waitOfAll = () =>
  world.state.budgetStore.change((bridge) => ({
    ...bridge,
    renewal: { at: world.clock.now(), forMs: 60_000 },
  }));
const unnamed = async () => {
  const current = await world.state.vault.read('main');
  if (current) await world.state.vault.write('main', { ...current.pair, follows: current.version });
};
it.each<[string, TokenRefresh['because'], () => unknown, object, number]>([
  ['brings a token', 'token-rejected', () => answer({}), well, 10_000],
  ['brings no token', 'token-rejected', () => answer({ access_token: undefined }), ill, 10_000],
  ['fails', 'token-rejected', () => refuse('transient'), ill, 10_000],
  ['stops the account', 'token-rejected', () => refuse('grant-rejected'), well, 5_000],
  ['finds the next pair', 'token-rejected', unnamed, well, 5_000],
  ['is not due', 'expired', () => undefined, { ...ill, at: Date.parse('2026-11-20T12:00:00Z') }, 5_000],
  ['waits for the endpoint', 'expired', waitOfAll, well, 5_000],
])('what others write outlives a refresh that %s', async (_what, because, prepare, before, forMs) => {
  const rejectedVersion = await version();
  await prepare();
  await change((account) => ({ ...account, renewal: { at: 0, forMs: 40_000, ...before } }));
  const pause = { kind: 'operator', since: 1 } as const;
  let writes = 0;
  const write: typeof world.partnerAccounts.change = async (...changed) => {
    writes += 1;
    // After the lock was taken, somebody pauses the account, and a good answer shortens the wait.
    if (writes === 2)
      await change(({ renewal = well, ...account }) => ({
        ...{ ...account, renewal: { ...renewal, forMs: 5_000 } },
        holds: [pause],
      }));
    return world.partnerAccounts.change(...changed);
  };
  const partnerAccounts = { ...world.partnerAccounts, change: write };

  await refresh({ rejectedVersion, because }, { ...world.tokenDeps, partnerAccounts });

  const after = await world.account();
  expect([holdOf(after, 'operator'), after?.renewal?.forMs]).toEqual([pause, forMs]);
});

it.each<[string, object]>([
  ['brings a token', {}],
  ['brings too small a scope', { scope: 'v2' }],
  ['brings no access token', { access_token: undefined }],
])('an answer that %s ends the wait of all for the endpoint', async (_what, changed) => {
  await world.state.budgetStore.change((bridge) => ({ ...bridge, renewal: { at: 0, forMs: 1 } }));
  answer(changed);

  await refresh();

  expect((await world.state.budgetStore.read()).renewal).toBeUndefined();
});

it('a failed refresh is reported although its failure cannot be stored', async () => {
  refuse('transient');
  let writes = 0;
  const failing = <C extends (...args: never[]) => Promise<unknown>>(changed: C, from: number): C =>
    ((...args: Parameters<C>) => {
      writes += 1;
      return writes === from ? Promise.reject(new Error('throttled')) : changed(...args);
    }) as C;
  const { partnerAccounts, budgetStore } = world.tokenDeps;
  const outcome = { kind: 'failed', fault: 'transient', reason: 'refused' };

  // The second write of each is the failure; the first takes the lock, or the turn.
  const accounts = { ...partnerAccounts, change: failing(partnerAccounts.change, 2) };
  expect(await refresh({}, { ...world.tokenDeps, partnerAccounts: accounts })).toEqual(outcome);
  writes = 0;
  const budget = { change: failing(budgetStore.change, 2) };
  expect(await refresh({}, { ...world.tokenDeps, budgetStore: budget })).toEqual(outcome);
});

it.each<[string, () => void]>([
  ['renewed', () => answer({})],
  ['failed', () => refuse('transient')],
  ['stopped', () => refuse('grant-rejected')],
])('a refresh has ended all that it began when it has %s', async (_how, happen) => {
  happen();
  let open = 0;
  const slow = <F extends (...args: never[]) => Promise<unknown>>(work: F, turns: number): F =>
    (async (...args: Parameters<F>) => {
      open += 1;
      for (let turn = 0; turn < turns; turn += 1) await nextTurn();
      return work(...args).finally(() => (open -= 1));
    }) as F;
  const { partnerAccounts, budgetStore, events } = world.tokenDeps;

  await refresh(
    {},
    {
      ...world.tokenDeps,
      partnerAccounts: { ...partnerAccounts, change: slow(partnerAccounts.change, 1) },
      budgetStore: { change: slow(budgetStore.change, 20) },
      events: { publish: slow(events.publish, 20) },
    },
  );

  expect(open).toBe(0);
});

it('several requests make one refresh, also after a dead process’s lock', async () => {
  const rejectedVersion = await version();
  const clock = { ...world.clock, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };
  const deps = { ...world.tokenDeps, clock };
  const all = await Promise.all([1, 2, 3].map(() => refresh({ rejectedVersion }, deps)));
  expect(all.map(({ kind }) => kind)).toEqual(['renewed', 'renewed', 'renewed']);
  expect(world.service.grants).toHaveLength(1);

  const lock = (startedAt: number) =>
    change((account) => ({
      ...account,
      refreshing: { holder: 'dead', startedAt, until: startedAt + 90_000 },
    }));
  await lock(world.clock.now());
  expect(await refresh()).toMatchObject({ kind: 'failed', fault: 'account-busy' });
  world.clock.advance(90_000);
  expect(await refresh()).toEqual({ kind: 'renewed' });
  world.clock.advance(10_000);
  // Taken before the clock was set back.
  await lock(world.clock.now() + dayMs);
  expect(await refresh()).toEqual({ kind: 'renewed' });
});

it.each(['access-new', 'access-1'])(
  'a hold ends when an unused refresh token brings a usable token',
  async (access_token) => {
    const hold = tokenHold(world.clock.now() + 60_000);
    await change((account) => ({ ...account, holds: [hold] }));
    answer({ access_token });

    expect(await refresh({ because: 'unused' })).toEqual({ kind: 'renewed' });

    expect(holdOf(await world.account(), 'token')).toBeUndefined();
  },
);

it.each<[string, () => unknown, string]>([
  ['because of the refresh token', () => refuse('grant-rejected'), 'refresh-token-rejected'],
  ['because of the scope', () => answer({ scope: 'v2 read' }), 'scope-insufficient'],
])('a stop %s is announced once, keeps the cursor, and ends with connect', async (_why, happen, reason) => {
  world.service.change('1', 'active');
  await world.round();
  happen();

  expect(await refresh()).toEqual({ kind: 'held' });
  expect(holdOf(await world.account(), 'authorization')).toMatchObject({ reason });
  expect(await refresh()).toEqual({ kind: 'held' });
  await world.refreshToken.sweep(world.options());
  expect(world.service.grants).toHaveLength(1);
  expect(await world.round()).toMatchObject({ polls: [], stopped: ['main'] });
  expect(attention()).toBe(1);
  expect(world.published()).toMatchObject([
    {
      'detail-type': 'PartnerAuthorizationRequired',
      resources: ['advert-bridge/main'],
      detail: { metadata: { partnerAccount: 'main' }, data: { reason } },
    },
  ]);
  if (reason === 'scope-insufficient') expect((await stored())[0]).toBe('access-new');
  expect(await version()).toBe((await world.state.vault.read('main'))?.version);
  const missing = reason === 'scope-insufficient' ? { missing: ['write'] } : {};
  const lines = world.observer.lines.filter(({ level }) => level === 'error');
  expect(lines.map(({ fields }) => fields)).toEqual([{ partnerAccount: 'main', reason, ...missing }]);

  world.service.change('2', 'active');
  answer({});
  expect(await connect()).toMatchObject({ isNew: false });
  await connect();
  await world.round();
  await world.handleBatch();
  expect(types().slice(0, 3)).toEqual([
    ...['PartnerAuthorizationRequired', 'PartnerAuthorizationRestored', 'AdvertStatusChanged'],
  ]);
  expect(world.service.feedRequests.at(-1)?.cursor).toBe('1');
});

/** The first write of a row that is meant is answered as a conflict, as a retry whose first attempt had succeeded. */
function answeringConflict(isMeant: (account: PartnerAccount) => boolean): RefreshDeps {
  const { store } = world.state;
  let answered = 0;
  const partnerAccounts = createPartnerAccounts({
    ...store,
    async put(key, value, expected) {
      const put = await store.put(key, value, expected);
      if (!isMeant(value as PartnerAccount)) return put;
      answered += 1;
      return answered > 1 ? put : { conflict: await store.get(key) };
    },
  });
  return { ...world.tokenDeps, partnerAccounts };
}

it('a stop is announced once when its write is answered as a conflict', async () => {
  answer({ scope: 'v2 read' });
  const deps = answeringConflict((account) => holdOf(account, 'authorization') !== undefined);

  expect(await refresh({}, deps)).toEqual({ kind: 'held' });
  expect(types()).toEqual(['PartnerAuthorizationRequired']);
});

it('a failed renewal counts once when its write is answered as a conflict', async () => {
  refuse('transient');
  const deps = answeringConflict(({ renewal }) => renewal !== undefined);

  expect(await refresh({}, deps)).toMatchObject({ kind: 'failed' });
  expect((await world.account())?.renewal).toMatchObject({ forMs: 5_000 });
});

it('a stop of a forgotten account ends unannounced', async () => {
  refuse('grant-rejected');
  await refresh();
  answer({});
  const generation = (await world.connect.beginForget('main')) ?? 0;
  await world.connect.endForget('main', generation);
  await connect();

  expect(types()).toEqual(['PartnerAuthorizationRequired']);
});

const refreshed = () =>
  world.observer.lines
    .filter(({ message }) => message === 'token refreshed')
    .map(({ fields }) => fields?.partnerAccount);
const sweep = async (ms = 60_000) => {
  const before = refreshed().length;
  await world.refreshToken.sweep(within(ms));
  return refreshed().slice(before);
};

it('a sweep publishes owed events in their order, each once', async () => {
  await change((account) => ({ ...account, owedEvents: ['"one"', '"two"', '"three"'] }));
  world.events.refuse((envelope) => envelope === '"two"');

  await sweep();
  expect((await world.account())?.owedEvents).toEqual(['"two"', '"three"']);
  world.events.refuse(() => false);
  await sweep();

  expect(world.events.accepted).toEqual(['"one"', '"two"', '"three"']);
  expect(await world.account()).not.toHaveProperty('owedEvents');
});

it('a sweep goes on when a row cannot be read, and reports it', async () => {
  world.clock.advance(dayMs);
  const { partnerAccounts } = world.tokenDeps;
  const list: typeof partnerAccounts.list = (onUnreadable) => {
    onUnreadable?.(new ShapeError('row x', [{ path: 'name', expected: 'no name' }]), { name: 'x' });
    return partnerAccounts.list();
  };
  const stage = createRefreshToken({ ...world.tokenDeps, partnerAccounts: { ...partnerAccounts, list } });

  await stage.sweep(world.options());
  expect(refreshed()).toEqual(['main']);
  expect(world.observer.lines).toContainEqual(
    expect.objectContaining({ level: 'error', fields: { reason: 'row x: name: no name' } }),
  );
  expect(attention()).toBe(1);
});
