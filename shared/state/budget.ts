import * as v from 'valibot';
import { checked, form, kept, moment, someText, wholeNumber } from '../contract/checks.ts';
import { holds } from '../domain/holds.ts';
import { renewalField } from '../domain/renewal.ts';
import { type Key, type Row, type Store, update } from '../ports/store.ts';

const budgetRow = kept({
  form,
  /** The next instant at which a request may start, ms since 1970. */
  nextSlotMs: moment,
  /** The time of the last reservation, by the clock of the process that made it. */
  clockMs: v.exactOptional(moment),
  /** Number of partner accounts that are not stopped, as a process listed them last. */
  connected: v.exactOptional(wholeNumber(0)),
  /** The base URL at which a feed or an advert was answered well: there, a 404 is not about the path. */
  provenUrl: v.exactOptional(v.string()),
  holds,
  /** The last try of a token endpoint that fails: of one account, or of several, which wait for it then. */
  renewal: renewalField,
  /** Evidence of a blocked address (domain/blame.ts). */
  failing: v.exactOptional(v.pipe(v.array(someText), v.readonly())),
});
export type BudgetState = Readonly<v.InferOutput<typeof budgetRow>>;

/** The initial state: nothing reserved, no hold. */
export const freshBudget: BudgetState = { nextSlotMs: 0 };

const key: Key = { kind: 'bridge', name: 'budget' };

/** @throws {ShapeError} */
const budgetStateOf = (row: Row | undefined): BudgetState =>
  row ? checked(budgetRow, row.value, 'rate budget') : freshBudget;

export type BudgetStore = ReturnType<typeof createBudgetStore>;

export function createBudgetStore(store: Store) {
  return {
    read: async (): Promise<BudgetState> => budgetStateOf(await store.get(key)),

    /** Applies `rule`, perhaps more than once, in one atomic step; if it returns the same state, nothing is written. */
    async change(rule: (state: BudgetState) => BudgetState): Promise<BudgetState> {
      const row = await update(store, key, (stored) => {
        const state = budgetStateOf(stored);
        const changed = rule(state);
        return changed === state ? undefined : changed;
      });
      return budgetStateOf(row);
    },
  };
}

interface SlotRequest {
  readonly count: number;
  readonly intervalMs: number;
  readonly nowMs: number;
  /** How far the clock by which this process takes its slots is from its own. Default 0. */
  readonly offsetMs?: number;
  /** `clockMs` of the state that this process knew last. */
  readonly lastClockMs?: number | undefined;
}

/** Clocks of processes differ by less than this, unless one of them is wrong. */
const slotToleranceMs = 1_000;

/** When the next slot is free, by the clock of the process that reserved last; a clock that is ahead takes nobody's slots. */
export function freeSlotMs({ nextSlotMs, clockMs = 0 }: BudgetState, nowMs: number): number {
  const aheadMs = clockMs - nowMs;
  return Math.max(aheadMs > slotToleranceMs ? nextSlotMs - aheadMs : nextSlotMs, nowMs);
}

/**
 * The state in which `count` slots end at `nextSlotMs`. A slot is never given twice, and an unused one is lost: so every
 * time window is within the rate.
 * @returns `clockMs`: the time by which slots are given; not `nowMs` if that is ahead of another process's clock
 */
export function reserveSlots(state: BudgetState, request: SlotRequest): BudgetState {
  const { count, intervalMs, nowMs, offsetMs: offset = 0, lastClockMs = 0 } = request;
  const { clockMs = 0 } = state;
  // Another process has reserved since then, by a clock that is behind: now all processes follow that one.
  const isAhead = lastClockMs - clockMs > slotToleranceMs;
  const isBehind = offset < 0 && clockMs > nowMs + offset;
  const offsetMs = isAhead || isBehind ? clockMs - nowMs : offset;
  const nextSlotMs = freeSlotMs(state, nowMs + offsetMs) + count * intervalMs;
  return { ...state, nextSlotMs, clockMs: nowMs + offsetMs };
}
