/**
 * What an answer of the service changes in the row of the bridge and in that of its partner account. The evidence stands
 * in these rows, so that it is the same for all processes and outlives them. A feed's answers say nothing of adverts.
 */
import { clockToleranceMs } from './clock.ts';
import type { BridgeFault } from './faults.ts';
import {
  beginOfHold,
  blamingHold,
  endOfHold,
  type Hold,
  type Holder,
  isBlaming,
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
}

/** After this many different adverts of an account have failed, its adverts are asked for one at a time. */
const manyAdverts = 3;
/** Between two adverts: this part of the time since they began to go one at a time (why: decision 9); its maximum, ms. */
const [gapPart, mostGapMs] = [1 / 20, 5_000];
/** The first pause, doubled each time up to the longest, ms; the service may ask for a longer one. */
const [firstPauseMs, longestPauseMs] = [1_000, 60_000];

/** Whether a process whose clock was ahead has written it: then it says nothing. */
const isAhead = (hold: Hold, now: number): boolean => beginOfHold(hold) > now + clockToleranceMs;

/**
 * After a good answer: without the evidence, and without the holds of bad answers that it was asked for after. The same
 * object if there are none.
 */
function acquitted<T extends Holder>(row: T, sentAt: number, now: number): T {
  const { failing, ...rest } = row;
  // A pause that the service asked for lasts as long as it asked: a process that does not know of it yet may be answered well.
  const isOver = (hold: Hold) =>
    sentAt >= (hold.fault === 'rate-limited' ? endOfHold(hold) : beginOfHold(hold)) || isAhead(hold, now);
  return withoutHolds(failing ? (rest as T) : row, (hold) => isBlaming(hold) && isOver(hold));
}

/** The pause that the service asks for with a 429, for the limit is the application's. */
function paused<T extends Holder>(row: T, fault: BridgeFault, sentAt: number, now: number): T {
  const before = row.holds?.find((hold) => hold.kind === 'service' && !isAhead(hold, now));
  const isStale = before !== undefined && sentAt <= beginOfHold(before);
  const growingMs = isStale ? 0 : Math.min(2 * (before?.forMs ?? 0), longestPauseMs);
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
export function bridgeAfter<T extends Holder>(row: T, answer: Evidence, circuitMs: number, now: number): T {
  const { account, resource, fault, sentAt } = answer;
  // A token request says nothing about the address of the other requests.
  // Rule: tokens-end-no-block
  if (!fault || fault.code === 'not-found') return account === undefined ? row : acquitted(row, sentAt, now);
  if (fault.code === 'rate-limited') return paused(row, fault, sentAt, now);
  const open = row.holds?.find((hold) => hold.kind === 'circuit');
  // Rule: block-judged-by-its-trial
  if (open && open.tried?.by !== resource) return row;
  if (fault.code !== 'forbidden' || account === undefined) return row;
  const isBlock = row.failing?.some(
    (other) =>
      // Rule: block-of-two-accounts
      !other.startsWith(`${account} `) || (row.connected === 1 && isOfAdvert(other) !== isOfAdvert(resource)),
  );
  if (!open && !isBlock) return row.failing ? row : { ...row, failing: [resource] };
  const reason = 'the service answers 403 to different requests';
  const hold = { kind: 'circuit', fault: fault.code, reason } as const;
  return withHold(row, { ...hold, since: open?.since ?? now, until: now + circuitMs, forMs: circuitMs });
}

/**
 * The account's row after an answer: when several of its adverts have failed, with no good answer between, they are asked
 * for one at a time until there is one. Its feed goes on.
 *
 * @returns the same object where the answer says nothing new
 */
export function accountAfter<T extends Holder>(row: T, answer: Evidence, now: number): T {
  const { resource, fault, sentAt } = answer;
  // Planted fault: feed-blames-adverts
  if (!isOfAdvert(resource)) return row;
  // Rule: good-answer-ends-turns
  if (!fault) return acquitted(row, sentAt, now);
  const isTelling = fault.mayBlame('more');
  const single = blamingHold(row);
  // Rule: gap-grows
  const forMs = isTelling ? Math.min(Math.max(0, now - (single?.since ?? now)) * gapPart, mostGapMs) : 0;
  const tried = { until: now + forMs };
  // The others were sent before it began to go one at a time.
  if (single) return single.tried?.by === resource ? withHold(row, { ...single, forMs, tried }) : row;
  if (!isTelling) return row;
  const failing = [...new Set([...(row.failing ?? []), resource])];
  // Rule: several-adverts-fail, all-go-on
  if (failing.length < manyAdverts) return failing.length === row.failing?.length ? row : { ...row, failing };
  const reason = 'its adverts are answered badly, each of the last ones';
  const hold = { kind: 'service', fault: fault.code, reason, since: now, until: now, forMs, tried } as const;
  return withHold(row, hold);
}
