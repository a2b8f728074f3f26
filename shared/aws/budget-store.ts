import { feedStateTable } from '../contract/tables.ts';
import { backoffMs } from '../domain/backoff.ts';
import { systemClock } from '../domain/clock.ts';
import type { BudgetState } from '../domain/rate-budget.ts';
import { freshBudget, paused, recovered, reserveSlots, suspected } from '../domain/rate-budget.ts';
import type { BudgetStore } from '../ports/budget-store.ts';
import { readItem, type Table, updateItem } from './dynamodb/conditional-write.ts';
import { fromItem, type Item, numberIn } from './dynamodb/values.ts';
import type { Edges } from './sqs/send-batches.ts';

const key: Item = {
  [feedStateTable.partitionKey]: { S: 'bridge' },
  [feedStateTable.sortKey]: { S: 'budget' },
};
const unused: Known = { state: freshBudget, version: 0 };

/** Every conflict means that somebody else got his slots; so many in a row mean that something is wrong. */
const maxConflicts = 30;
const backoff = { baseMs: 5, capMs: 200 };

interface Known {
  readonly state: BudgetState;
  readonly version: number;
}

/**
 * The bridge's rate budget: one item for all functions. A change is reckoned from the state last seen and written under
 * the condition that it still stands, so that in the common case it costs one write and no read; when it does not, the
 * refusal brings the state along.
 */
export function createBudgetStore(
  table: Table,
  { clock = systemClock, random = Math.random }: Edges = {},
): BudgetStore {
  let seen: Known | undefined;
  /** Changes of one process go one after another: among themselves they need not conflict. */
  let last: Promise<unknown> = Promise.resolve();

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work, work);
    last = mine.catch(() => undefined);
    return mine;
  };

  async function look(): Promise<Known> {
    seen = knownOf(await readItem(table, key));
    return seen;
  }

  /** Applies `change`, again from what is found when somebody else wrote in between. */
  async function apply<T>(
    change: (state: BudgetState) => { readonly state: BudgetState; readonly result: T },
  ) {
    let from = seen ?? (await look());
    for (let attempt = 1; attempt <= maxConflicts; attempt += 1) {
      const { state, result } = change(from.state);
      if (isSame(state, from.state)) {
        // Nothing to write: but only the state that really stands can say so.
        const standing = await look();
        if (standing.version === from.version) return result;
        from = standing;
        continue;
      }
      const version = from.version + 1;
      const { pauseReason, suspect, ...rest } = state;
      const outcome = await updateItem(table, key, {
        set: { pauseReason, suspect, ...rest, version },
        condition:
          from.version === 0 ? `attribute_not_exists(#${feedStateTable.partitionKey})` : '#version = :from',
        values: from.version === 0 ? {} : { from: from.version },
      });
      if (outcome.written) {
        seen = { state, version };
        return result;
      }
      from = knownOf(outcome.found);
      seen = from;
      await clock.sleep(backoffMs(attempt, { ...backoff, random }));
    }
    throw new Error('the rate budget is contended beyond reason');
  }

  return {
    read: async () => (await look()).state,
    reserve: (request) =>
      inTurn(() =>
        apply((state) => {
          const reservation = reserveSlots(state, request);
          return { state: reservation.state, result: reservation };
        }),
      ),
    pause: (untilMs, reason) =>
      inTurn(() => apply((state) => ({ state: paused(state, untilMs, reason), result: undefined }))),
    suspect: (resource) =>
      inTurn(() => apply((state) => ({ state: suspected(state, resource), result: state }))),
    recover: () => inTurn(() => apply((state) => ({ state: recovered(state), result: undefined }))),
  };
}

const isSame = (one: BudgetState, other: BudgetState): boolean =>
  one.nextSlotMs === other.nextSlotMs &&
  one.pausedUntilMs === other.pausedUntilMs &&
  one.pauseReason === other.pauseReason &&
  one.suspect === other.suspect;

function knownOf(item: Item | undefined): Known {
  if (!item) return unused;
  const { nextSlotMs, pausedUntilMs, pauseReason, suspect } = fromItem(item, 'rate budget');
  const state = {
    nextSlotMs: Number(nextSlotMs ?? 0),
    pausedUntilMs: Number(pausedUntilMs ?? 0),
    ...(pauseReason === undefined ? {} : { pauseReason }),
    ...(suspect === undefined ? {} : { suspect }),
  } as BudgetState;
  return { state, version: numberIn(item, 'version') };
}
