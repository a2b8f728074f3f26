import { checked, ofKnownForm } from '../contract/checks.ts';
import { feedStateTable } from '../contract/tables.ts';
import { backoffMs } from '../domain/backoff.ts';
import { systemClock } from '../domain/clock.ts';
import { type BudgetState, freshBudget } from '../domain/rate-budget.ts';
import { type BudgetStore, budgetStoreOver, type ChangeBudget } from '../ports/budget-store.ts';
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

  /** After a conflict, applies `rule` again to the current state. */
  const apply: ChangeBudget = async (rule) => {
    let from = seen ?? (await look());
    for (let attempt = 1; attempt <= maxConflicts; attempt += 1) {
      const changed = rule(from.state);
      const { state } = changed;
      if (state === from.state) {
        // There is nothing to write, but this must be decided from the currently stored state.
        const standing = await look();
        if (standing.version === from.version) return changed;
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
        return changed;
      }
      from = seen = knownOf(outcome.found);
      await clock.sleep(backoffMs(attempt, { ...backoff, random }));
    }
    throw new Error(`the rate budget could not be written: ${maxConflicts} conflicts in a row`);
  };

  return budgetStoreOver(
    async () => (await look()).state,
    (rule) => {
      const mine = last.then(() => apply(rule));
      last = mine.catch(() => undefined);
      return mine;
    },
  );
}

function knownOf(item: Item | undefined): Known {
  if (!item) return { state: freshBudget, version: 0 };
  const stored = checked(ofKnownForm, fromItem(item, 'rate budget'), 'rate budget');
  const { nextSlotMs, clockMs, pausedUntilMs, pauseReason, suspect, operatorPause } = stored;
  const state = {
    nextSlotMs: Number(nextSlotMs ?? 0),
    pausedUntilMs: Number(pausedUntilMs ?? 0),
    ...(clockMs === undefined ? {} : { clockMs }),
    ...(pauseReason === undefined ? {} : { pauseReason }),
    ...(suspect === undefined ? {} : { suspect }),
    ...(operatorPause === undefined ? {} : { operatorPause }),
  } as BudgetState;
  return { state, version: numberIn(item, 'version') };
}
