import { randomUUID } from 'node:crypto';
import type { AdvertEvent } from '../shared/contract/events.ts';
import {
  advertKeyOf,
  comparePositions,
  type Judgement,
  judge,
  type Position,
  positionOf,
} from './position.ts';
import type { PositionStore } from './store.ts';

/** Somebody else is at this advert, or died at it: give the message back, it can be tried again. */
export class AdvertBusyError extends Error {
  override readonly name = 'AdvertBusyError';
  readonly code = 'advert-busy';
  readonly retryable = true;

  constructor(key: string, until: number) {
    super(
      `events of advert ${key} are being applied elsewhere, until ${new Date(until).toISOString()} at the latest`,
    );
  }
}

/** The claim ran out before the work was done, and somebody else took over: make `leaseMs` longer than the work. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
  readonly code = 'claim-lost';
  readonly retryable = true;

  constructor(key: string) {
    super(`the claim on advert ${key} ran out before its events were applied`);
  }
}

export interface StaleGuardOptions {
  readonly store: PositionStore;
  /**
   * How long a claim keeps others off, in ms; default 15 minutes, as long as a Lambda function can run. Longer than
   * applying can take: a worker that goes on after its claim has run out may overwrite what another applied.
   */
  readonly leaseMs?: number;
  /** ms since 1970; default `Date.now`. */
  readonly now?: () => number;
  /** Default random. */
  readonly newOwner?: () => string;
}

export interface Judged<E extends AdvertEvent> extends Judgement {
  readonly event: E;
}

export interface HeldClaim<E extends AdvertEvent> {
  /** One for each event given, in order of position. */
  readonly judged: readonly Judged<E>[];
  /** They have been applied as far as this event; the others may go on. @throws {ClaimLostError} */
  confirm(lastApplied: E): Promise<void>;
  /** Nothing has been applied. */
  release(): Promise<void>;
}

export interface StaleGuard {
  /**
   * Applies an event unless it is stale or a duplicate: claims the advert, calls `apply`, and remembers the position.
   * What ends in between is done again when the message comes back: `apply` runs at least once, never for an event older
   * than one that is remembered. (After a crash between the two an older event may still go first, until the newer one
   * comes back; `onlyIfNewer` knows no such moment.)
   *
   * @returns what became of it; `apply` was called for outcomes `apply` and `gap` alone
   * @throws {AdvertBusyError} somebody else has the advert: give the message back
   * @throws {ClaimLostError} the claim ran out meanwhile: give the message back
   * @throws what `apply` throws; the claim has been released then
   */
  run<E extends AdvertEvent>(
    event: E,
    apply: (event: E, judgement: Judgement) => unknown,
  ): Promise<Judgement>;
  /** The same in steps, for a batch: claims one advert for several of its events. */
  claim<E extends AdvertEvent>(events: readonly [E, ...E[]], leaseMs?: number): Promise<HeldClaim<E>>;
}

/** Long enough for the longest Lambda invocation, after which its process runs no more. */
const defaultLeaseMs = 15 * 60_000;

export function createStaleGuard(options: StaleGuardOptions): StaleGuard {
  const { store, leaseMs: usualLeaseMs = defaultLeaseMs, now = Date.now, newOwner = randomUUID } = options;

  async function claim<E extends AdvertEvent>(
    events: readonly [E, ...E[]],
    leaseMs = usualLeaseMs,
  ): Promise<HeldClaim<E>> {
    const sorted = [...events].sort((a, b) => comparePositions(positionOf(a), positionOf(b)));
    const newest = sorted.at(-1) ?? events[0];
    const key = advertKeyOf(newest);
    const owner = newOwner();
    const began = now();
    const position = positionOf(newest);
    const answer = await store.claim(key, { position, owner, until: began + leaseMs }, began);
    if (answer.kind === 'busy') throw new AdvertBusyError(key, answer.until);
    const judged = judgeAll(sorted, answer.applied);
    if (answer.kind === 'superseded') return { judged, confirm: async () => {}, release: async () => {} };
    return {
      judged,
      async confirm(lastApplied) {
        if (!(await store.confirm(key, owner, positionOf(lastApplied)))) throw new ClaimLostError(key);
      },
      release: () => store.release(key, owner),
    };
  }

  return {
    claim,
    async run(event, apply) {
      const held = await claim([event]);
      const { outcome, missing } = held.judged[0] as Judged<typeof event>;
      if (outcome === 'apply' || outcome === 'gap') {
        try {
          await apply(event, { outcome, missing });
        } catch (error) {
          await released(held);
          throw error;
        }
        await held.confirm(event);
      }
      return { outcome, missing };
    },
  };
}

/** Releases a claim after a fault, which is the one to be told; a claim that stays runs out by itself. */
export async function released(held: Pick<HeldClaim<AdvertEvent>, 'release'>): Promise<void> {
  await held.release().catch(() => {});
}

function judgeAll<E extends AdvertEvent>(sorted: readonly E[], applied: Position | undefined): Judged<E>[] {
  let last = applied;
  return sorted.map((event) => {
    const position = positionOf(event);
    const judgement = judge(last, position);
    if (judgement.outcome === 'apply' || judgement.outcome === 'gap') last = position;
    return { event, ...judgement };
  });
}
