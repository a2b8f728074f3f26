import { expect, it } from 'vitest';
import {
  createStandstillDetector,
  feedProblemOf,
  isSetback,
  StuckFeedError,
} from '../../../../functions/drain/poll-fault.ts';
import type { PageIds, PageRead } from '../../../../functions/drain/read-page.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { NoAnswerError } from '../../../../shared/partner-api/transport.ts';
import type { FeedProblem, FeedState } from '../../../../shared/state/feed-states.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { feedProblem, feedState } from '../../../helpers/records.ts';

const clock = createManualClock();
const pollMs = 60_000;

function report(fault: BridgeFault, before: Partial<FeedState> = {}, everyMs: number | undefined = pollMs) {
  const observer = createRecordingObserver();
  const problem = feedProblemOf({ observer, clock }, fault, { before: feedState(before), pollMs: everyMs });
  return { problem, observer };
}
const failure = (retryAfterMs?: number, code: FaultKind = 'transient', status = 503) =>
  new BridgeFault(code, 'answered', { status, retryAfterMs });
const waited = (forMs: number, why: 'failing' | 'asked' | 'stuck'): FeedProblem =>
  feedProblem({ wait: { until: 0, forMs, why } });
const noAnswer = new BridgeFault('transient', 'no answer', { cause: new NoAnswerError('timeout') });
const stuck = [300_000, 'stuck'] as const;

it.each<[string, BridgeFault, FeedProblem | undefined, readonly [number, string] | undefined]>([
  ['not after its first failure', failure(), undefined, undefined],
  // Half a period less, so that the round in which it is due finds it.
  ['two periods after its second', failure(), feedProblem(), [90_000, 'failing']],
  ['four after its third', failure(), waited(90_000, 'failing'), [210_000, 'failing']],
  ['five minutes at most', failure(), waited(210_000, 'failing'), [270_000, 'failing']],
  ['five minutes again', failure(), waited(270_000, 'failing'), [270_000, 'failing']],
  ['two periods after a wait that was asked for', failure(), waited(900_000, 'asked'), [90_000, 'failing']],
  ['two periods after it was stuck', failure(), waited(300_000, 'stuck'), [90_000, 'failing']],
  ['not after a poll that was not sent', failure(), feedProblem({ kind: 'paused' }), undefined],
  ['after a fault of a newer bridge, too', failure(), feedProblem({ kind: 'new' }), [90_000, 'failing']],
  ['as long as asked, at once', failure(1), undefined, [1, 'asked']],
  ['as long as asked, if that is longer', failure(90_001), feedProblem(), [90_001, 'asked']],
  ['as long as asked, if that is the same', failure(90_000), feedProblem(), [90_000, 'asked']],
  ['longer than asked, if it fails again', failure(89_999), feedProblem(), [90_000, 'failing']],
  ['if there was no answer, too', noAnswer, feedProblem(), [90_000, 'failing']],
  ['not for a fault of the bridge', new BridgeFault('transient', 'the queue'), feedProblem(), undefined],
  ['not after 429, for which all wait', failure(9_000, 'rate-limited', 429), feedProblem(), undefined],
  ['five minutes when it is stuck', new StuckFeedError('three cursors'), undefined, stuck],
  [
    'five minutes when refused as wrong twice',
    failure(9, 'invalid-request', 400),
    feedProblem({ kind: 'invalid-request' }),
    stuck,
  ],
  [
    'as ever when refused as wrong once',
    failure(undefined, 'invalid-request', 400),
    feedProblem(),
    [90_000, 'failing'],
  ],
  [
    'as ever when it fails alike otherwise',
    failure(undefined, 'forbidden', 403),
    feedProblem({ kind: 'forbidden' }),
    [90_000, 'failing'],
  ],
])('a feed is left alone: %s', async (_when, fault, problem, expected) => {
  const [forMs, why] = expected ?? [];

  const { wait } = report(fault, problem && { problem }).problem;

  expect(wait).toEqual(expected && { forMs, why, until: clock.now() + (forMs ?? 0) });
});

it.each([
  [undefined, undefined],
  [7_000, { forMs: 7_000, why: 'asked', until: clock.now() + 7_000 }],
])('a feed that is polled on request waits only as asked: %s', (retryAfterMs, wait) => {
  const fault = failure(retryAfterMs);
  const before = feedState({ problem: feedProblem() });

  const problem = feedProblemOf({ observer: createRecordingObserver(), clock }, fault, {
    before,
    pollMs: undefined,
  });

  expect(problem.wait).toEqual(wait);
});

it.each<[string, Partial<FeedState>, number]>([
  ['the first failed poll in a row', { lastPolled: 8, problem: feedProblem({ since: 7 }) }, 7],
  ['this poll', { lastPolled: 8 }, 8],
  ['this moment', {}, clock.now()],
])('a problem began with %s', (_what, before, since) => {
  expect(report(failure(), before).problem).toMatchObject({ kind: 'transient', reason: 'answered', since });
});

it.each<[string, BridgeFault, string, boolean]>([
  ['a passing fault', failure(), 'warn', false],
  ['a pause of the service', new BridgeFault('paused', 'x'), 'warn', false],
  ['a pause of an operator', new BridgeFault('operator-paused', 'x'), 'info', false],
  ['a fault for a person', new BridgeFault('wrong-path', 'x'), 'error', true],
  ['no progress', new StuckFeedError('x'), 'error', true],
])('the log and the row say whether somebody must act: %s', (_what, fault, level, isForPerson) => {
  const { problem, observer } = report(fault);

  expect(observer.lines).toMatchObject([{ level, fields: { partnerAccount: 'main', fault: fault.code } }]);
  expect(observer.counted(metrics.needsAttention)).toBe(isForPerson ? 1 : 0);
  expect(problem.needsAttention).toBe(isForPerson || undefined);
  expect(new StuckFeedError('x').code).toBe('contract-broken');
});

interface Page {
  readonly before?: string;
  readonly next: string;
  readonly ids?: number;
  readonly malformed?: number;
  readonly hasMore?: boolean;
  readonly startedOver?: boolean;
  /** Setbacks in a row before this page. */
  readonly setbacks?: number;
}
const idsOf = ({ ids = 1, malformed = 0 }: Page): PageIds => ({
  ...{ ids: Array(ids).fill('7'), malformed, repeated: 0, malformedShown: [] },
});
const readOf = ({ next, hasMore = true, startedOver = false }: Page): PageRead => ({
  ...{ page: { data: [], hasMore, nextCursor: next }, startedOver, since: '' },
  ...{ receivedAt: 0, serviceTime: 0 },
});
/** What the detector says after the last of the pages; after all others, it must say nothing. */
function said(pages: readonly Page[]) {
  const detect = createStandstillDetector();
  const faults = pages.map((page) => {
    const { before: cursor, setbacks: resetsInARow = 0 } = page;
    return detect(feedState({ resetsInARow, ...(cursor && { cursor }) }), readOf(page), idsOf(page));
  });
  expect(faults.slice(0, -1).filter(Boolean)).toEqual([]);
  return faults.at(-1)?.message;
}
const empty = (count: number, change: Partial<Page> = {}): Page[] =>
  Array.from({ length: count }, (_, index) => ({ next: `e${index}`, ids: 0, ...change }));
const again = /gives the same cursor again/;
const emptyPages = /gave 30 pages without an ID/;

it.each<[string, Page[], RegExp | undefined]>([
  ['the second setback in a row', [{ next: 'b', startedOver: true, setbacks: 1 }], undefined],
  [
    'a third rejected cursor',
    [{ next: 'b', startedOver: true, setbacks: 2 }],
    /rejected cursors, 3 times in/,
  ],
  [
    'a third page of entries alone',
    [{ next: 'b', ids: 0, malformed: 1, setbacks: 2 }],
    /without an ID, 3 times in/,
  ],
  ['a good page after two setbacks', [{ next: 'b', setbacks: 2 }], undefined],
  ['an empty page after two setbacks', [{ next: 'b', ids: 0, setbacks: 2 }], undefined],
  ['a page with IDs and other entries after two', [{ next: 'b', malformed: 1, setbacks: 2 }], undefined],
  ['its own cursor with more to come', [{ before: 'a', next: 'a', ids: 0 }], again],
  ['its own cursor with IDs', [{ before: 'a', next: 'a', hasMore: false }], again],
  ['its own cursor at its end', [{ before: 'a', next: 'a', ids: 0, hasMore: false }], undefined],
  ['its cursor of before it started over', [{ before: 'a', next: 'a', startedOver: true }], undefined],
  ['a cursor of some pages before', [{ before: 'a', next: 'b' }, { next: 'c' }, { next: 'a' }], again],
  ['the cursor of the page before', [{ next: 'b' }, { next: 'b' }], again],
  ['29 empty pages', empty(29), undefined],
  ['30 empty pages', empty(30), emptyPages],
  ['30 pages of entries alone', empty(30, { malformed: 1 }), emptyPages],
  [
    '30 empty pages of which the last is the end',
    [...empty(29), { next: 'z', ids: 0, hasMore: false }],
    undefined,
  ],
  [
    'empty pages with an ID between',
    [...empty(29), { next: 'x' }, ...empty(29).map((page) => ({ ...page, next: `f${page.next}` }))],
    undefined,
  ],
])('a feed makes no progress, or does, with %s', (_what, pages, expected) => {
  if (expected) expect(said(pages)).toMatch(expected);
  else expect(said(pages)).toBeUndefined();
});

it.each([
  [false, 0, 0, false],
  [false, 0, 1, true],
  [false, 1, 1, false],
  [true, 1, 0, true],
])(
  'a page is a setback (started over: %s, %i IDs, %i others): %s',
  (startedOver, ids, malformed, expected) => {
    const page = { next: 'b', startedOver, ids, malformed };
    expect(isSetback(readOf(page), idsOf(page))).toBe(expected);
  },
);
