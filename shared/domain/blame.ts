/**
 * What an answer of the service changes in the row of the bridge and in that of its partner account. The evidence stands
 * in these rows, so that it is the same for all processes and outlives them. A feed's answers say nothing of adverts, and
 * an advert that is known to be ill says nothing of others.
 */
import type { BridgeFault } from './faults.ts';
import {
  beginOfHold,
  endOfHold,
  type Hold,
  type Holder,
  isOfAdvert,
  withHold,
  withoutHolds,
} from './holds.ts';

/** What one answer shows. */
export interface Evidence {
  /** Undefined for a token request. */
  readonly account: string | undefined;
  readonly resource: string;
  /** Undefined after a success. */
  readonly fault: BridgeFault | undefined;
  readonly sentAt: number;
  /** The last answer about this advert was a fault, too. Default false. */
  readonly isIll?: boolean;
}

/** The row of the bridge, or of a partner account. */
export interface BlamedRow extends Holder {
  /** Of the bridge: resources that answered 403 without a known code, with no good answer of the service since. */
  readonly forbidden?: readonly string[];
  /** Of the bridge: the number of partner accounts that are not stopped. */
  readonly connected?: number;
  /** Of an account: adverts that were not ill before and failed, with no good answer about an advert since. */
  readonly failing?: readonly string[];
}

/** So many different adverts of an account, after which its adverts are asked for one at a time. */
const manyAdverts = 3;
/** So many of those that fail then are remembered. */
const maxBlamed = 20;
/**
 * Between two adverts of an account that goes one at a time, ms: as long as the answer took, so that hanging ones take no more
 * than half of a worker's time, but not longer, because its healthy adverts wait for their turn.
 */
const [leastGapMs, mostGapMs] = [1_000, 10_000];
/** Of a pause, unless the service asks for a longer one: doubled from the first to the second, ms. */
const [firstPauseMs, longestPauseMs] = [1_000, 60_000];
/** After a trial that answers neither well nor with 403, another resource tries the service, ms. */
const nextTrialMs = 5_000;

const accountOf = (resource: string): string => resource.replace(/ .*/, '');

/** Ended by answers; the others have another end. */
const isBlamed = ({ fault }: Hold): boolean => fault !== undefined;

/** The same object if there is no such evidence. */
function without<T extends BlamedRow>(row: T, evidence: 'forbidden' | 'failing'): T {
  if (row[evidence] === undefined) return row;
  const { [evidence]: _evidence, ...rest } = row;
  return rest as unknown as T;
}

/** The pause that the service asks for with a 429, for the limit is the application's. */
function paused<T extends Holder>(row: T, fault: BridgeFault, sentAt: number, now: number): T {
  const before = row.holds?.find(({ kind, fault }) => kind === 'service' && fault === 'rate-limited');
  const { forMs: beforeMs = 0 } = before ?? {};
  const isStale = before !== undefined && sentAt <= beginOfHold(before);
  const growingMs = isStale ? 0 : Math.min(2 * beforeMs, longestPauseMs);
  const forMs = Math.max(firstPauseMs, growingMs, fault.retryAfterMs ?? 0);
  // What was sent before the pause began gives no new information, unless the service asks for a longer one.
  if (before && endOfHold(before) >= (isStale ? sentAt : now) + forMs) return row;
  const hold = { kind: 'service', fault: fault.code, reason: 'the service asked for a pause' } as const;
  return withHold(row, { ...hold, since: before?.since ?? now, until: now + forMs, forMs });
}

/**
 * The bridge's row after an answer: a 429 pauses it. So does 403 of two accounts, or of the only account's feed and an
 * advert, with no good answer between: the address is blocked.
 *
 * @returns the same object where the answer says nothing new
 */
export function bridgeAfter<T extends BlamedRow>(
  row: T,
  { account, resource, fault, sentAt }: Evidence,
  circuitMs: number,
  now: number,
): T {
  if (!fault || fault.code === 'not-found') {
    // A token request, and what was sent before, says nothing of it.
    const isOver = (hold: Hold) => account !== undefined && isBlamed(hold) && sentAt >= beginOfHold(hold);
    return withoutHolds(account === undefined ? row : without(row, 'forbidden'), isOver);
  }
  if (fault.code === 'rate-limited') return paused(row, fault, sentAt, now);
  const open = row.holds?.find((hold) => hold.kind === 'circuit');
  // Rule: block-judged-by-its-trial
  if (open && open.tried?.by !== resource) return row;
  if (open && fault.code !== 'forbidden')
    return withHold(row, { ...open, tried: { until: now + nextTrialMs } });
  if (fault.code !== 'forbidden' || account === undefined) return row;
  const { forbidden = [] } = row;
  const isBlock = forbidden.some(
    (other) =>
      // Rule: block-of-two-accounts
      accountOf(other) !== account || (row.connected === 1 && isOfAdvert(other) !== isOfAdvert(resource)),
  );
  if (!open && !isBlock) {
    const isKnown = forbidden.some((other) => isOfAdvert(other) === isOfAdvert(resource));
    return isKnown ? row : { ...row, forbidden: [...forbidden, resource] };
  }
  return withHold(without(row, 'forbidden'), {
    ...{ kind: 'circuit', fault: fault.code, reason: 'the service answers 403 to different requests' },
    ...{ since: open?.since ?? now, until: now + circuitMs, forMs: circuitMs },
  });
}

/**
 * The account's row after an answer: when several of its adverts have failed, with no good answer between, they are asked
 * for one at a time until there is one. Its feed goes on.
 *
 * @returns the same object where the answer says nothing new
 */
export function accountAfter<T extends BlamedRow>(row: T, answer: Evidence, now: number): T {
  const { resource, fault, sentAt, isIll = false } = answer;
  const gapMs = Math.min(Math.max(leastGapMs, now - sentAt), mostGapMs);
  // Planted fault: feed-blames-adverts
  if (!isOfAdvert(resource)) return row;
  if (!fault) return withoutHolds(without(row, 'failing'), isBlamed);
  const single = row.holds?.find(isBlamed);
  const isTelling = fault.mayBlame('more');
  if (single) {
    const { tried, blamed: before = [], ...rest } = single;
    const isNew = isTelling && !before.includes(resource);
    const blamed = isNew ? [...before, resource].slice(-maxBlamed) : before;
    // Its request was sent before the others began to wait.
    if (tried?.by !== resource)
      return isNew && before.length < maxBlamed ? withHold(row, { ...single, blamed }) : row;
    if (!isTelling) return withHold(row, { ...rest, forMs: leastGapMs, blamed });
    return withHold(row, { ...rest, forMs: gapMs, blamed, tried: { until: now + gapMs } });
  }
  // Rule: ill-is-no-evidence
  if (!isTelling || isIll) return row;
  const failing = [...new Set([...(row.failing ?? []), resource])];
  // Rule: several-adverts-fail, all-go-on
  if (failing.length < manyAdverts) return failing.length === row.failing?.length ? row : { ...row, failing };
  return withHold(without(row, 'failing'), {
    ...{
      kind: 'service',
      fault: fault.code,
      reason: 'its adverts are answered badly, each of the last ones',
    },
    ...{ since: now, until: now, forMs: gapMs, tried: { until: now + gapMs }, blamed: failing },
  });
}
