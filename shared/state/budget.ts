import * as v from 'valibot';
import { checked, form, kept, moment, wholeNumber } from '../contract/checks.ts';
import { endOfHold, holdOf, holds } from '../domain/holds.ts';
import { type Key, type Row, type Store, update } from '../ports/store.ts';

const budgetRow = kept({
  form,
  /** The next instant at which a request may start, ms since 1970. */
  nextSlotMs: moment,
  /** The time of the last reservation, by the clock of the process that made it. */
  clockMs: v.exactOptional(moment),
  /** Number of partner accounts that are not stopped, as a process listed them last. */
  connected: v.exactOptional(wholeNumber(0)),
  holds,
});
export type BudgetState = Readonly<v.InferOutput<typeof budgetRow>>;

/** The initial state: nothing reserved, no hold. */
export const freshBudget: BudgetState = { nextSlotMs: 0 };

const key: Key = { kind: 'bridge', name: 'budget' };

/** @throws {ShapeError} */
const stateOf = (row: Row | undefined): BudgetState =>
  row ? checked(budgetRow, row.value, 'rate budget') : freshBudget;

export type BudgetStore = ReturnType<typeof createBudgetStore>;

export function createBudgetStore(store: Store) {
  return {
    read: async (): Promise<BudgetState> => stateOf(await store.get(key)),

    /** Applies `rule`, perhaps more than once, in one atomic step; if it returns the same state, nothing is written. */
    async change<T extends { readonly state: BudgetState }>(rule: (state: BudgetState) => T): Promise<T> {
      let changed: T | undefined;
      await update(store, key, (row) => {
        const state = stateOf(row);
        changed = rule(state);
        return changed.state === state ? undefined : changed.state;
      });
      return changed as T;
    },
  };
}

export interface SlotRequest {
  readonly count: number;
  readonly intervalMs: number;
  readonly nowMs: number;
  /** How far the clock by which this process takes its slots is from its own. Default 0. */
  readonly offsetMs?: number;
  /** `clockMs` of the state that this process knew last. */
  readonly lastClockMs?: number | undefined;
}

export interface Reservation {
  readonly firstSlotMs: number;
  /** Slots are given by the process's clock plus this; not 0 if that clock is ahead of another process's. */
  readonly offsetMs: number;
  /** The state after the reservation. */
  readonly state: BudgetState;
}

/** Clocks of processes differ by less than this, unless one of them is wrong. */
const clockToleranceMs = 1_000;

/** By the clock of the process that reserved last, unless that is ahead: a wrong clock takes nobody's slots. */
export function freeSlotMs({ nextSlotMs, clockMs = 0 }: BudgetState, nowMs: number): number {
  const aheadMs = clockMs - nowMs;
  return Math.max(aheadMs > clockToleranceMs ? nextSlotMs - aheadMs : nextSlotMs, nowMs);
}

/** Until when no request is sent, ms since 1970: 0 without a hold, Infinity if somebody has to end it. */
export function heldUntil(state: BudgetState, nowMs: number): number {
  const hold = holdOf(state, undefined, nowMs);
  return hold ? endOfHold(hold) : 0;
}

/** A slot is never given twice, and an unused one is lost: so every time window is within the rate. */
export function reserveSlots(state: BudgetState, request: SlotRequest): Reservation {
  const { count, intervalMs, nowMs, offsetMs: offset = 0, lastClockMs = 0 } = request;
  const { clockMs = 0 } = state;
  // Another process has reserved since then, by an earlier clock: so all go by that one, and follow it.
  const isAhead = lastClockMs - clockMs > clockToleranceMs;
  const isBehind = offset < 0 && clockMs > nowMs + offset;
  const offsetMs = isAhead || isBehind ? clockMs - nowMs : offset;
  const firstSlotMs = freeSlotMs(state, nowMs + offsetMs);
  const next = { nextSlotMs: firstSlotMs + count * intervalMs, clockMs: nowMs + offsetMs };
  return { firstSlotMs, offsetMs, state: { ...state, ...next } };
}
