/** Whatever is asked of queue and dead letters in the state file, in whatever order, the books balance after every step. */
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
import { createManualClock } from '../helpers/manual-clock.ts';
import { changedAdvert, letterOf } from '../helpers/records.ts';
import { balances } from './books.suite.ts';

const accounts = ['a', 'b'];
const generations = [1, 2];
const visibilityMs = 10_000;

class World {
  readonly dir = mkdtempSync(path.join(tmpdir(), 'bridge-'));
  readonly clock = createManualClock();
  state = openEmbeddedState(this.dir, { clock: this.clock });
  /** Of the past as well: late workers settle them. */
  readonly deliveries: Delivery[] = [];

  async check(): Promise<void> {
    const { bookKeeper, queue } = this.state;
    for (const account of accounts) {
      const books = await Promise.all(generations.map((generation) => bookKeeper.read(account, generation)));
      expect(books.every(balances)).toBe(true);
      expect(await queue.depth(account)).toBe(books.reduce((sum, { inFlight }) => sum + inFlight, 0));
    }
    using db = new DatabaseSync(stateFileIn(this.dir), { readOnly: true });
    const { waiting } = await bookKeeper.queue();
    expect(db.prepare('SELECT count(*) AS waiting FROM messages').get()).toEqual({ waiting });
  }

  close(): void {
    this.state.close();
    rmSync(this.dir, { recursive: true });
  }
}

/** Prints as itself in a counterexample. */
interface Step {
  readonly run: (world: World) => Promise<unknown>;
  readonly toString: () => string;
}

const stepOf = <T>(
  name: string,
  values: fc.Arbitrary<T>,
  run: (world: World, value: T) => Promise<unknown>,
): fc.Arbitrary<Step> =>
  values.map((value) => ({
    run: (world) => run(world, value),
    toString: () => `${name} ${fc.stringify(value)}`,
  }));

const account = fc.constantFrom(...accounts);
const generation = fc.constantFrom(...generations);
const nth = fc.nat(8);

const message = fc
  .record({ partnerAccount: account, generation, advertId: fc.constantFrom('1', '2', '3') })
  .map(changedAdvert);

const send = stepOf('send', fc.array(message, { maxLength: 6 }), ({ state }, messages) =>
  state.queue.send(messages),
);

const most = fc.record({ maxPerGroup: fc.integer({ min: 1, max: 3 }) });
const receive = stepOf('receive', most, async ({ state, deliveries }, options) => {
  deliveries.unshift(...(await state.queue.receive({ ...options, maxGroups: 100, visibilityMs })));
});

const kinds = ['done', 'retry', 'later', 'dead-letter', 'forgotten'] as const;
const outcomes = ['events', 'unchanged', 'coalesced', 'unavailable'] as const;
const verdict = fc.record({
  index: nth,
  kind: fc.constantFrom(...kinds),
  outcome: fc.constantFrom(...outcomes),
});
type Drawn = typeof verdict extends fc.Arbitrary<infer T> ? T : never;

const settle = stepOf(
  'settle',
  fc.array(verdict, { minLength: 1, maxLength: 4 }),
  ({ state, deliveries }, verdicts) => {
    const settlements = verdicts.flatMap((drawn) => {
      const delivery = deliveries[drawn.index];
      return delivery ? [{ delivery, verdict: verdictOf(drawn, delivery) }] : [];
    });
    return state.queue.settle(settlements);
  },
);

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

const wait = stepOf('wait', fc.constantFrom(1, 5_000, 10_000, 300_000), async ({ clock }, ms) =>
  clock.advance(ms),
);

const letter = stepOf(
  'letter',
  fc.record({ index: nth, isRedriven: fc.boolean() }),
  async ({ state }, drawn) => {
    const all = await state.deadLetters.list();
    const chosen = all.filter((_, index) => index === drawn.index % all.length);
    await (drawn.isRedriven ? redriveDeadLetters(state, chosen) : dropDeadLetters(state, chosen));
  },
);

const restart = stepOf('restart', fc.constant(undefined), async (world) => {
  world.state.close();
  takeRunLock(world.dir, { command: 'run', startedAt: '2026-11-20T12:00:00Z' }).release();
  world.state = openEmbeddedState(world.dir, { clock: world.clock });
  // The worker that had received them is dead.
  world.deliveries.length = 0;
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
  it('balance in the state file, whatever happens', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 80, size: 'max' }), async (steps) => {
        const world = new World();
        try {
          for (const each of steps) {
            await each.run(world);
            await world.check();
          }
        } finally {
          world.close();
        }
      }),
      { numRuns: 40 },
    );
  });
});
