import { checked, ofKnownForm } from '../contract/checks.ts';
import { feedStateTable } from '../contract/tables.ts';
import { backoffMs } from '../domain/backoff.ts';
import { systemClock } from '../domain/clock.ts';
import type { BudgetState } from '../domain/rate-budget.ts';
import {
  endedEarly,
  freshBudget,
  paused,
  recovered,
  reserveSlots,
  suspected,
  withOperatorPause,
} from '../domain/rate-budget.ts';
import type { BudgetStore } from '../ports/budget-store.ts';
import type { Edges } from './batches/batches.ts';
import { hasVersion, readItem, type Table, updateItem } from './dynamodb/conditional-write.ts';
import { fromItem, type Item, numberIn } from './dynamodb/values.ts';

const key: Item = {
  [feedStateTable.partitionKey]: { S: 'bridge' },
  [feedStateTable.sortKey]: { S: 'budget' },
};

/** A conflict means that another process reserved first; this many in a row mean that something is wrong. */
const maxConflicts = 30;
const backoff = { baseMs: 5, capMs: 200 };

interface Known {
  readonly state: BudgetState;
  readonly version: number;
}

/**
 * The bridge's rate budget: one item for all functions. A change is computed from the last known state and written on
 * the condition that this state is still stored, so it usually costs one write and no read. If the condition fails, the
 * error contains the current state.
 */
export function createBudgetStore(
  table: Table,
  { clock = systemClock, random = Math.random }: Edges = {},
): BudgetStore {
  let seen: Known | undefined;
  /** The changes of one process run in sequence, so that they do not conflict with each other. */
  let last: Promise<unknown> = Promise.resolve();

  async function look(): Promise<Known> {
    seen = knownOf(await readItem(table, key));
    return seen;
  }

  /** Applies `change`; after a conflict, applies it again to the current state. */
  async function apply<T>(change: (state: BudgetState) => Changed<T>): Promise<T> {
    let from = seen ?? (await look());
    for (let attempt = 1; attempt <= maxConflicts; attempt += 1) {
      const { state, result } = change(from.state);
      if (state === from.state) {
        // There is nothing to write, but this must be decided from the currently stored state.
        const standing = await look();
        if (standing.version === from.version) return result;
        from = standing;
        continue;
      }
      const version = from.version + 1;
      const { pauseReason, suspect, operatorPause, ...rest } = state;
      const outcome = await updateItem(table, key, {
        set: { pauseReason, suspect, operatorPause, ...rest, version },
        ...hasVersion(from.version),
      });
      if (outcome.written) {
        seen = { state, version };
        return result;
      }
      from = seen = knownOf(outcome.found);
      await clock.sleep(backoffMs(attempt, { ...backoff, random }));
    }
    throw new Error(`the rate budget could not be written: ${maxConflicts} conflicts in a row`);
  }

  const inTurn = <T>(change: (state: BudgetState) => Changed<T>): Promise<T> => {
    const mine = last.then(() => apply(change));
    last = mine.catch(() => undefined);
    return mine;
  };

  return {
    read: async () => (await look()).state,
    reserve: (request) =>
      inTurn((state) => {
        const result = reserveSlots(state, request);
        return { state: result.state, result };
      }),
    pause: (untilMs, reason) =>
      inTurn((state) => ({ state: paused(state, untilMs, reason), result: undefined })),
    suspect: (resource) => inTurn((state) => ({ state: suspected(state, resource), result: state })),
    recover: () => inTurn((state) => ({ state: recovered(state), result: undefined })),
    setOperatorPause: (pause) =>
      inTurn((state) => ({ state: withOperatorPause(state, pause), result: undefined })),
    endPause: () => inTurn((state) => ({ state: endedEarly(state), result: undefined })),
  };
}

interface Changed<T> {
  /** Returns the same object if nothing changes. */
  readonly state: BudgetState;
  readonly result: T;
}

function knownOf(item: Item | undefined): Known {
  if (!item) return { state: freshBudget, version: 0 };
  const stored = checked(ofKnownForm, fromItem(item, 'rate budget'), 'rate budget');
  const { nextSlotMs, pausedUntilMs, pauseReason, suspect, operatorPause } = stored;
  const state = {
    nextSlotMs: Number(nextSlotMs ?? 0),
    pausedUntilMs: Number(pausedUntilMs ?? 0),
    ...(pauseReason === undefined ? {} : { pauseReason }),
    ...(suspect === undefined ? {} : { suspect }),
    ...(operatorPause === undefined ? {} : { operatorPause }),
  } as BudgetState;
  return { state, version: numberIn(item, 'version') };
}
