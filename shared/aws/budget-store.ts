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

/** A conflict means that another process reserved first; so many in a row mean that something is wrong. */
const maxConflicts = 30;
const backoff = { baseMs: 5, capMs: 200 };

interface Known {
  readonly state: BudgetState;
  readonly version: number;
}

/**
 * The bridge's rate budget: one item for all functions. A change is computed from the state last seen and written under
 * the condition that it still stands, so in the common case it costs one write and no read; when it does not stand, the
 * refusal brings the present state along.
 */
export function createBudgetStore(
  table: Table,
  { clock = systemClock, random = Math.random }: Edges = {},
): BudgetStore {
  let seen: Known | undefined;
  /** Changes of one process go one after another: among themselves they need not conflict. */
  let last: Promise<unknown> = Promise.resolve();

  async function look(): Promise<Known> {
    seen = knownOf(await readItem(table, key));
    return seen;
  }

  /** Applies `change`, again from what is found when another process wrote in between. */
  async function apply<T>(change: (state: BudgetState) => Changed<T>): Promise<T> {
    let from = seen ?? (await look());
    for (let attempt = 1; attempt <= maxConflicts; attempt += 1) {
      const { state, result } = change(from.state);
      if (state === from.state) {
        // Nothing to write: but only the state that is stored now can say so.
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
  /** The very same object where nothing changes. */
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
