/** Puts messages aside back into the queue when nothing keeps them from it any more. */
import type { ShapeError } from '../../shared/contract/checks.ts';
import { type Clock, isYoung } from '../../shared/domain/clock.ts';
import { blamingHold, endOfHold, holdOf } from '../../shared/domain/holds.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { ChangedAdvertsQueue } from '../../shared/ports/queue.ts';
import type { Aside } from '../../shared/state/aside.ts';
import type { BudgetStore } from '../../shared/state/budget.ts';
import { noAccount } from '../../shared/state/dead-letters.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';

export interface ReleaseDeps {
  readonly queue: Pick<ChangedAdvertsQueue, 'sendAgain'>;
  readonly partnerAccounts: Pick<PartnerAccounts, 'read'>;
  readonly aside: Pick<Aside, 'accounts' | 'due' | 'notes' | 'remove'>;
  readonly budgetStore: Pick<BudgetStore, 'read'>;
  readonly observer: Observer;
  readonly clock: Clock;
  readonly settings: { readonly maxRequestsPerSecond: number };
}

const accountsAtOnce = 4;
/** The time between two steps. */
const stepMs = 5_000;
/** An account whose last adverts all failed has one try a minute; a step less, because runs are not exactly on time. */
const tryMs = 60_000 - stepMs;

interface Released {
  readonly count: number;
  /** Whether the last adverts of the account all failed: it stays in the run, because a good answer may come meanwhile. */
  readonly triesOne: boolean;
}

const nothing: Released = { count: 0, triesOne: false };

/**
 * Returns a function that puts the messages aside back into the queue, unless their partner account or the whole bridge is
 * on hold now. Those of an unknown account too: fan-out discards them. It never rejects: what could not be put back stays
 * aside until the next run.
 */
export function createRelease(deps: ReleaseDeps): (untilMs: number) => Promise<void> {
  const { partnerAccounts, aside, queue, budgetStore, observer, clock, settings } = deps;
  // Half of what is fetched until the next step, of all accounts together, because new changes wait behind them.
  // Rule: half-of-the-rate
  const atOnce = Math.ceil((settings.maxRequestsPerSecond * stepMs) / 2_000);

  /** When the run began in which an account whose last adverts all failed had its last try. */
  const triedAt = new Map<string, number>();

  const onUnreadable = ({ message: reason }: ShapeError) =>
    observer.warn('a message aside cannot be read', { reason });

  /** @param begunMs when the run began: in one run, an account whose last adverts all failed has one try */
  async function releaseOf(partnerAccount: string, limit: number, begunMs: number): Promise<Released> {
    if (partnerAccount === noAccount) {
      const notes = await aside.notes();
      for (const { note } of notes) observer.warn('an operator drops dead letters', note);
      await aside.remove(notes);
      return nothing;
    }
    const account = await partnerAccounts.read(partnerAccount);
    if (holdOf(undefined, account, clock.now())) return nothing;
    // The last adverts all failed: one a minute tries again, and the first good answer lets the others go.
    const triesOne = account !== undefined && blamingHold(account) !== undefined;
    // Rule: few-put-back
    if (triesOne && isYoung(triedAt.get(partnerAccount) ?? Number.NEGATIVE_INFINITY, begunMs, tryMs))
      return { count: 0, triesOne };
    const wanted = { nowMs: clock.now(), most: triesOne ? 1 : limit };
    const held = await aside.due(partnerAccount, wanted, onUnreadable);
    if (held.length === 0) return nothing;
    if (triesOne) triedAt.set(partnerAccount, begunMs);
    // Planted fault: removed-before-sent
    const refused = await queue.sendAgain(held);
    const accepted = held.filter(({ etag }) => !refused.has(etag));
    await aside.remove(accepted);
    if (accepted.length > 0)
      observer.info('messages put back into the queue', { partnerAccount, count: accepted.length });
    return { count: accepted.length, triesOne };
  }

  const warn = (error: unknown, partnerAccount?: string) =>
    observer.warn('messages aside could not be put back: the next run tries again', {
      partnerAccount,
      error,
    });

  /** One step. @returns the accounts that may have more, the one whose turn is next first */
  async function step(names: readonly string[], begunMs: number): Promise<string[]> {
    const turns = [...names];
    const trying: string[] = [];
    let left = atOnce;
    while (turns.length > 0 && left > 0) {
      const share = Math.max(1, Math.floor(left / turns.length));
      const next = turns.splice(0, Math.min(accountsAtOnce, left));
      const released = await Promise.all(
        next.map((name) =>
          releaseOf(name, share, begunMs).catch((error: unknown) => {
            warn(error, name);
            return nothing;
          }),
        ),
      );
      for (const [index, name] of next.entries()) {
        const { count, triesOne } = released[index] ?? nothing;
        left -= count;
        if (triesOne) trying.push(name);
        else if (count === share) turns.push(name);
      }
    }
    return [...turns, ...trying];
  }

  return async (untilMs) => {
    const begunMs = clock.now();
    try {
      const listed = await aside.accounts();
      // Each run begins with the account at which the one before it ended, roughly.
      const first = (Math.floor(clock.now() / stepMs) * atOnce) % Math.max(1, listed.length);
      let names = [...listed.slice(first), ...listed.slice(0, first)];
      while (names.length > 0) {
        const hold = holdOf(await budgetStore.read(), undefined, clock.now());
        // Rule: release-waits-for-a-pause
        if (!hold) names = await step(names, begunMs);
        // The run outlives a short pause: a service with a limit a minute may ask for one whenever a run begins.
        const waitMs = Math.max(stepMs, endOfHold(hold) - clock.now());
        if (names.length === 0 || clock.now() + waitMs >= untilMs) return;
        await clock.sleep(waitMs);
      }
    } catch (error) {
      warn(error);
    }
  };
}
