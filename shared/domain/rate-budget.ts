/**
 * The rules of the rate budget's shared state, as pure functions, which the store applies in one atomic step.
 * rate-limiter.ts uses the reservations.
 */
import {
  endOfHold,
  type Hold,
  type Holder,
  holdOf,
  trialAt,
  untriedHold,
  whileTried,
  withHold,
  withoutHolds,
} from './holds.ts';

/** One shared row for the whole bridge. */
export interface BudgetState extends Holder {
  /** The next instant at which a request may start, ms since 1970. */
  readonly nextSlotMs: number;
  /** The time of the last reservation, by the clock of the process that made it. */
  readonly clockMs?: number;
  /** Number of partner accounts that are not stopped, as a process listed them last. */
  readonly connected?: number;
}

/** The initial state: nothing reserved, no hold. */
export const freshBudget: BudgetState = { nextSlotMs: 0 };

export interface SlotRequest {
  readonly count: number;
  readonly intervalMs: number;
  readonly nowMs: number;
  /** How far the clock by which this process takes its slots is from its own. Default 0. */
  readonly offsetMs?: number;
  /** `clockMs` of the state that this process knew last. */
  readonly lastClockMs?: number | undefined;
  /** The resource of the first request, which may have to try the service after a hold. */
  readonly resource: string;
  /** That request continues a trial: it gets a slot although all others wait for its result. */
  readonly followsTrial?: boolean;
}

export interface Reservation {
  /** `count`; 1 for a trial; 0 during a hold. */
  readonly granted: number;
  /** The slot is for one request only, which tries the service. */
  readonly isTrial: boolean;
  readonly firstSlotMs: number;
  /** Slots are given by the process's clock plus this; not 0 if that clock is ahead of another process's. */
  readonly offsetMs: number;
  /** The state after the reservation. */
  readonly state: BudgetState;
}

/** Clocks of processes differ by less than this, unless one of them is wrong. */
const clockToleranceMs = 1_000;

/**
 * The first free slot. Slots are given by the clock of the process that reserved last. If that clock is ahead, the slots
 * count from this process's time instead: a process with a wrong clock takes nobody's slots, and a clock that is set back
 * stops nobody.
 */
export function freeSlotMs({ nextSlotMs, clockMs = 0 }: BudgetState, nowMs: number): number {
  const aheadMs = clockMs - nowMs;
  return Math.max(aheadMs > clockToleranceMs ? nextSlotMs - aheadMs : nextSlotMs, nowMs);
}

/** A hold for which a request must wait, and until when. */
export interface Waiting {
  readonly hold: Hold;
  readonly untilMs: number;
}

/** For which hold a request for `resource` must wait. An operator's does not count: tokens are sent during it. */
export function waitOf(state: BudgetState, resource: string, nowMs: number): Waiting | undefined {
  if (!state.holds) return undefined;
  const holder = withoutHolds(state, ({ kind }) => kind === 'operator');
  const hold = holdOf(holder, undefined, nowMs);
  if (hold) return { hold, untilMs: endOfHold(hold) };
  const untried = untriedHold(holder, nowMs);
  const untilMs = untried ? trialAt(untried, resource, nowMs) : 0;
  return untried && untilMs > nowMs ? { hold: untried, untilMs } : undefined;
}

/** Until when no request is sent, ms since 1970: 0 without a hold, Infinity if somebody has to end it. */
export function heldUntil(state: BudgetState, nowMs: number): number {
  const hold = holdOf(state, undefined, nowMs);
  return hold ? endOfHold(hold) : 0;
}

/** The hold because of the service's answers, whether it has ended or not. */
export const blamingHold = ({ holds = [] }: Holder): Hold | undefined =>
  holds.find(({ fault }) => fault !== undefined);

/**
 * Reserves the next `count` slots, `intervalMs` apart, the first one not before `nowMs`. A slot is never given twice,
 * and an unused slot is lost: this keeps every time window within the rate.
 *
 * @returns during a hold no slots (`firstSlotMs` is its end, and the state is the same object); after a hold one slot for
 * a trial, while all others wait for its result
 */
export function reserveSlots(state: BudgetState, request: SlotRequest): Reservation {
  const { count, intervalMs, nowMs, resource, followsTrial = false, lastClockMs = 0 } = request;
  const { clockMs = 0 } = state;
  const { offsetMs: offset = 0 } = request;
  // Another process has reserved since then, by an earlier clock: so all go by that one, and follow it.
  const isAhead = lastClockMs - clockMs > clockToleranceMs;
  const isBehind = offset < 0 && clockMs > nowMs + offset;
  const offsetMs = isAhead || isBehind ? clockMs - nowMs : offset;
  const waiting = waitOf(state, resource, nowMs);
  const untried = followsTrial ? blamingHold(state) : untriedHold(state, nowMs);
  if (waiting && !(followsTrial && waiting.hold === untried))
    return { granted: 0, isTrial: false, firstSlotMs: waiting.untilMs, offsetMs, state };
  const firstSlotMs = freeSlotMs(state, nowMs + offsetMs);
  const granted = untried ? 1 : count;
  const reserved = { ...state, nextSlotMs: firstSlotMs + granted * intervalMs, clockMs: nowMs + offsetMs };
  // Rule: one-trial-at-a-time
  const next = untried ? withHold(reserved, whileTried(untried, firstSlotMs - offsetMs)) : reserved;
  return { granted, isTrial: untried !== undefined, firstSlotMs, offsetMs, state: next };
}
