/**
 * The in-memory and the SQLite adapters side by side: whatever is asked of them, in whatever order, they answer alike,
 * and the books of both balance after every step.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dropDeadLetters, redriveDeadLetters } from '../../operations/dead-letters.ts';
import type { Delivery, Verdict } from '../../shared/ports/queue.ts';
import { stateFileIn } from '../../shared/sqlite/file/private-folder.ts';
import { takeRunLock } from '../../shared/sqlite/file/run-lock.ts';
import { openEmbeddedState } from '../../shared/sqlite/state.ts';
import { createInMemoryState } from '../fakes/state.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { changedAdvert, letterOf } from '../helpers/records.ts';
import { balances } from './books.suite.ts';

const accounts = ['a', 'b'];
const generations = [1, 2];
const visibilityMs = 10_000;

/** The common interface of both worlds. */
type World = Pick<ReturnType<typeof openEmbeddedState>, 'queue' | 'deadLetters' | 'aside' | 'bookKeeper'>;

class Pair {
  readonly dir = mkdtempSync(path.join(tmpdir(), 'bridge-'));
  readonly clock = createManualClock();
  readonly inMemory = createInMemoryState({ clock: this.clock });
  sqlite = openEmbeddedState(this.dir, { clock: this.clock });
  /** Of the past as well: late workers settle them. */
  readonly deliveries: Delivery[] = [];

  /** Asks both, and expects the same answer. */
  async ask<T>(question: (world: World) => Promise<T>): Promise<T> {
    const answer = await question(this.inMemory);
    expect(await question(this.sqlite)).toEqual(answer);
    return answer;
  }

  async check(): Promise<void> {
    for (const account of accounts) {
      const books = await Promise.all(
        generations.map((generation) => this.ask(({ bookKeeper }) => bookKeeper.read(account, generation))),
      );
      expect(books.every(balances)).toBe(true);
      const depth = await this.ask(({ queue }) => queue.depth(account));
      expect(depth).toBe(books.reduce((sum, { inFlight }) => sum + inFlight, 0));
    }
    await this.ask(({ bookKeeper }) => bookKeeper.queue());
    using db = new DatabaseSync(stateFileIn(this.dir), { readOnly: true });
    const waiting = (await this.sqlite.bookKeeper.queue()).waiting;
    expect(db.prepare('SELECT count(*) AS waiting FROM messages').get()).toEqual({ waiting });
  }

  close(): void {
    this.sqlite.close();
    rmSync(this.dir, { recursive: true });
  }
}

/** One thing asked of both worlds; prints as itself in a counterexample. */
interface Step {
  readonly run: (pair: Pair) => Promise<unknown>;
  readonly toString: () => string;
}

const stepOf = <T>(
  name: string,
  values: fc.Arbitrary<T>,
  run: (pair: Pair, value: T) => Promise<unknown>,
): fc.Arbitrary<Step> =>
  values.map((value) => ({
    run: (pair) => run(pair, value),
    toString: () => `${name} ${fc.stringify(value)}`,
  }));

const account = fc.constantFrom(...accounts);
const generation = fc.constantFrom(...generations);
const nth = fc.nat(8);

const message = fc
  .record({ partnerAccount: account, generation, advertId: fc.constantFrom('1', '2', '3') })
  .map(changedAdvert);

const send = stepOf('send', fc.array(message, { maxLength: 6 }), (pair, messages) =>
  pair.ask(({ queue }) => queue.send(messages)),
);

const most = fc.record({ maxPerGroup: fc.integer({ min: 1, max: 3 }) });
const receive = stepOf('receive', most, async (pair, options) => {
  // All that may be delivered, in the order of sending: whose turn is next, a new start forgets.
  const delivered = await pair.ask(async ({ queue }) => {
    const deliveries = await queue.receive({ ...options, maxGroups: 100, visibilityMs });
    return deliveries.sort((a, b) => (a.position < b.position ? -1 : 1));
  });
  pair.deliveries.unshift(...delivered);
});

const kinds = ['done', 'retry', 'later', 'dead-letter', 'forgotten'] as const;
const outcomes = ['events', 'unchanged', 'coalesced', 'unavailable'] as const;
const verdict = fc.record({
  index: nth,
  kind: fc.constantFrom(...kinds),
  outcome: fc.constantFrom(...outcomes),
});
type Drawn = typeof verdict extends fc.Arbitrary<infer T> ? T : never;

const settle = stepOf('settle', fc.array(verdict, { minLength: 1, maxLength: 4 }), (pair, verdicts) => {
  const settlements = verdicts.flatMap((drawn) => {
    const delivery = pair.deliveries[drawn.index];
    return delivery ? [{ delivery, verdict: verdictOf(drawn, delivery) }] : [];
  });
  return pair.ask(({ queue }) => queue.settle(settlements));
});

function verdictOf({ kind, outcome }: Drawn, { message: listed }: Delivery): Verdict {
  switch (kind) {
    case 'done':
      return { kind, outcome };
    case 'dead-letter':
      return { kind, letter: letterOf(listed ?? changedAdvert()) };
    case 'forgotten':
      return { kind };
    default:
      return { kind: 'retry', delayMs: kind === 'later' ? 15_000 : 0 };
  }
}

const wait = stepOf('wait', fc.constantFrom(1, 5_000, 10_000, 300_000), async (pair, ms) =>
  pair.clock.advance(ms),
);

const letter = stepOf('letter', fc.record({ index: nth, isRedriven: fc.boolean() }), async (pair, drawn) => {
  const ids = await pair.ask(async ({ deadLetters }) => (await deadLetters.list()).map(({ id }) => id));
  const filter = { ids: [ids[drawn.index % Math.max(1, ids.length)] ?? 'main/404'] };
  if (drawn.isRedriven) await pair.ask((world) => redriveDeadLetters(world, filter));
  else await pair.ask((world) => dropDeadLetters(world, filter));
});

/**
 * The process dies and the next run begins: messages in flight are available at once, and delayed messages stay
 * delayed.
 */
const restart = stepOf('restart', fc.constant(undefined), async (pair) => {
  pair.sqlite.close();
  takeRunLock(pair.dir, { command: 'run', startedAt: '2026-11-20T12:00:00Z' }).release();
  pair.sqlite = openEmbeddedState(pair.dir, { clock: pair.clock });
  pair.inMemory.queue.redeliver();
  // The worker that had received them is dead.
  pair.deliveries.length = 0;
});

const step = fc.oneof(
  { weight: 4, arbitrary: send },
  { weight: 6, arbitrary: receive },
  { weight: 6, arbitrary: settle },
  { weight: 3, arbitrary: wait },
  { weight: 2, arbitrary: letter },
  { weight: 1, arbitrary: restart },
);

describe('queue and books', () => {
  it('are the same in memory and in SQLite, and balance, whatever happens', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 80, size: 'max' }), async (steps) => {
        const pair = new Pair();
        try {
          for (const each of steps) {
            await each.run(pair);
            await pair.check();
          }
        } finally {
          pair.close();
        }
      }),
      { numRuns: 40 },
    );
  });
});
