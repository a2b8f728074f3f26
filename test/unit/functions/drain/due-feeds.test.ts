import { expect, it } from 'vitest';
import { lagStartOf, sortFeeds } from '../../../../functions/drain/due-feeds.ts';
import { type OnUnreadable, ShapeError } from '../../../../shared/contract/checks.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { toInstant } from '../../../../shared/domain/clock.ts';
import type { Hold } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import type { FeedProblem, FeedState } from '../../../../shared/state/feed-states.ts';
import { stopped, tokenHold } from '../../../helpers/holds.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { feedProblem, feedState, partnerAccount } from '../../../helpers/records.ts';

const clock = createManualClock();
const now = clock.now();
const minuteMs = 60_000;
const ago = (ms: number) => toInstant(now - ms);

const account = (change: Partial<PartnerAccount> = {}) =>
  partnerAccount({ connectedAt: ago(10 * minuteMs), ...change });
const feed = (change: Partial<FeedState> = {}) => feedState({ since: ago(20 * minuteMs), ...change });

async function sort(
  accounts: readonly PartnerAccount[],
  states: readonly FeedState[],
  ...options: Parameters<typeof sortFeeds> extends [unknown, ...infer O] ? O : never
) {
  const observer = createRecordingObserver();
  const list =
    <T>(rows: readonly T[]) =>
    async (onUnreadable?: OnUnreadable) => {
      if (rows.length === 0)
        onUnreadable?.(new ShapeError('row', [{ path: 'x', expected: 'y' }]), { name: 'x' });
      return [...rows];
    };
  const deps = {
    observer,
    clock,
    feedStates: { list: list(states) },
    partnerAccounts: { list: list(accounts) },
  };
  const { due, ...rest } = await sortFeeds(deps, ...options);
  return { ...rest, due: due.map(({ state }) => state.partnerAccount), begunAt: due[0]?.begunAt, observer };
}

const operator = (until?: number): Hold => ({
  ...{ kind: 'operator', since: 0, who: 'ann' },
  ...(until !== undefined && { until }),
});
const token = (change: Partial<Hold> = {}): Hold => ({ ...tokenHold(now + 9), ...change });
const paused = (fault: string, reason: string, untilMs: number) => [
  { partnerAccount: 'main', fault, reason, untilMs },
];
it.each<[string, readonly Hold[], object]>([
  ['polled without a hold', [], { due: ['main'] }],
  ['polled when its hold is over', [operator(now)], { due: ['main'] }],
  [
    'held by an operator',
    [operator(now + 9)],
    { paused: paused('operator-paused', 'paused by ann', now + 9) },
  ],
  [
    'held without an end',
    [operator()],
    { paused: paused('operator-paused', 'paused by ann', Number.POSITIVE_INFINITY) },
  ],
  ['held with a reason', [token()], { paused: paused('account-paused', 'tired', now + 9) }],
  [
    'held without one',
    [{ kind: 'token', since: 0, until: now + 9 }],
    { paused: paused('account-paused', 'token', now + 9) },
  ],
  ['stopped', stopped('scope-insufficient').holds, { stopped: ['main'] }],
  ['stopped and held', [...stopped('scope-insufficient').holds, operator()], { stopped: ['main'] }],
  ['disconnected', stopped('disconnected').holds, {}],
])('a feed is %s', async (_how, holds, expected) => {
  const { begunAt: _begunAt, observer, ...sorted } = await sort([account({ holds })], [feed()]);

  expect(sorted).toEqual({ due: [], stopped: [], paused: [], ...expected });
  expect(observer.lines).toEqual([]);
});

const waits = (why: 'stuck' | 'asked' | 'failing', untilMs = now + 9): FeedProblem =>
  feedProblem({ reason: 'why', wait: { why, until: untilMs, forMs: minuteMs } });
it.each<[string, FeedProblem | undefined, object, string | undefined]>([
  ['has no wait', feedProblem(), {}, undefined],
  ['has a wait that is over', waits('failing', now), {}, undefined],
  ['has a wait of a wrong clock', waits('failing', now + 2 * minuteMs + 1), {}, undefined],
  ['is stuck', waits('stuck'), {}, 'contract-broken'],
  ['fails', waits('failing'), {}, 'transient'],
  ['was asked to wait', waits('asked'), {}, 'transient'],
  ['is stuck, whoever insists', waits('stuck'), { insists: true }, 'contract-broken'],
  ['fails, unless somebody insists', waits('failing'), { insists: true }, undefined],
  ['was asked to wait, whoever insists', waits('asked'), { insists: true }, 'transient'],
  ['is stuck, unless it is named', waits('stuck'), { only: 'main' }, undefined],
  ['was asked to wait, unless it is named', waits('asked'), { only: 'main' }, undefined],
])('a feed waits by itself that %s', async (_how, problem, options, fault) => {
  const state = feed({ lastSuccess: now - 77, ...(problem && { problem }) });

  const { due, paused: waiting } = await sort([account()], [state], options);

  expect(due).toEqual(fault ? [] : ['main']);
  const untilMs = problem?.wait?.until;
  expect(waiting).toEqual(
    fault ? [{ partnerAccount: 'main', fault, reason: 'why', untilMs, lagsSince: now - 77 }] : [],
  );
});

it.each([
  ['of its connection', ago(10 * minuteMs), ago(20 * minuteMs), 10 * minuteMs],
  ['of its first `since`, if that is later', ago(20 * minuteMs), ago(10 * minuteMs), 10 * minuteMs],
  ['of its connection, if `since` is no time', ago(20 * minuteMs), 'x', 20 * minuteMs],
])('the lag of a feed that was never read counts from the time %s', async (_what, connectedAt, since, ms) => {
  expect((await sort([account({ connectedAt })], [feed({ since })])).begunAt).toBe(now - ms);
});

it.each([
  ['its last success', now - 5, now - 5],
  ['now, if that is in the near future', now + minuteMs, now],
  ['its beginning, if that is in the far future', now + minuteMs + 1, 7],
  ['its beginning without one', undefined, 7],
])('the lag of a feed counts from %s', (_what, lastSuccess, from) => {
  const state = feed(lastSuccess === undefined ? {} : { lastSuccess });
  expect(lagStartOf({ state, begunAt: 7 }, now)).toBe(from);
});

it.each<[string, Partial<PartnerAccount>, Partial<FeedState>[], object, number]>([
  ['a minute after it was connected', { connectedAt: ago(minuteMs) }, [], {}, 1],
  ['not before', { connectedAt: ago(minuteMs - 1) }, [], {}, 0],
  ['if its feed is of another generation', {}, [{ generation: 7 }], {}, 1],
  ['not if it has one of its own, too', {}, [{ generation: 7 }, {}], {}, 0],
  ['not if its own is one that only a newer bridge knows', {}, [{ feed: 'threads' }], {}, 0],
  ['not if it is stopped', stopped('scope-insufficient'), [], {}, 0],
  ['not if another account is polled', {}, [], { only: 'other' }, 0],
  ['if it alone is polled', {}, [], { only: 'main' }, 1],
])('an account without a feed is reported %s', async (_when, change, states, options, reports) => {
  const other = feed({ partnerAccount: 'other' });
  const accounts = [account(change), account({ name: 'other' })];

  const { observer } = await sort(accounts, [...states.map(feed), other], options);

  expect(observer.counted(metrics.needsAttention)).toBe(reports);
  const { generation } = account();
  expect(observer.lines.map(({ fields }) => fields)).toEqual(
    Array(reports).fill({ partnerAccount: 'main', generation }),
  );
});

it('a round of one account has no other feed; unreadable rows are reported', async () => {
  const accounts = [account(), account({ name: 'other', ...stopped('scope-insufficient') })];
  const states = [feed({ partnerAccount: 'other' }), feed()];
  expect(await sort(accounts, states, { only: 'main' })).toMatchObject({ due: ['main'], stopped: [] });

  const { observer } = await sort([], []);
  expect(observer.lines).toMatchObject(Array(2).fill({ level: 'error', fields: { reason: 'row: x: y' } }));
});
