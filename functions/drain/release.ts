import type { Clock } from '../../shared/domain/clock.ts';
import { forEachConcurrent } from '../../shared/domain/concurrency.ts';
import { holdOf } from '../../shared/domain/holds.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { ChangedAdvertsQueue } from '../../shared/ports/queue.ts';
import { type Aside, putBack } from '../../shared/state/aside.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';

export interface ReleaseDeps {
  readonly accounts: Pick<PartnerAccounts, 'read'>;
  readonly aside: Pick<Aside, 'accounts' | 'list' | 'remove'>;
  readonly queue: Pick<ChangedAdvertsQueue, 'sendAgain'>;
  /** `heldUntil` of the shared rate budget as it is now. */
  readonly bridgePausedUntil: () => Promise<number>;
  readonly observer: Observer;
  readonly clock: Clock;
  readonly settings: {
    /**
     * At most this many messages are put back for each partner account: the limit above which the drain stops reading a
     * feed. The next run puts back more.
     */
    readonly maxWaiting: number;
  };
}

const accountsAtOnce = 4;
/** Messages per step; a crash between sending and removing them sends at most these twice. */
const messagesAtOnce = 250;

/**
 * Puts the messages that wait aside back into the queue, unless their partner account is stopped or paused, or the whole
 * bridge is paused. The present state decides, not the expected end of the wait when they were put aside. Messages of an
 * unknown account are put back too; fan-out then discards them. They count towards a feed's backlog, so this function
 * must run even for feeds that are not polled.
 *
 * Never rejects: messages that could not be put back stay aside until the next run.
 */
export async function releaseHeld(deps: ReleaseDeps, deadlineMs: number): Promise<void> {
  const { accounts, aside, queue, bridgePausedUntil, observer, clock, settings } = deps;

  async function releaseOf(partnerAccount: string): Promise<void> {
    const account = await accounts.read(partnerAccount);
    const now = clock.now();
    if (account && holdOf(undefined, account, now)) return;
    let released = 0;
    while (released < settings.maxWaiting && clock.now() < deadlineMs) {
      const held = await aside.list(partnerAccount, messagesAtOnce);
      if (held.length === 0) break;
      // Planted fault: removed-before-sent
      const accepted = await putBack(held, { queue, remove: aside.remove });
      released += accepted.length;
      if (accepted.length < held.length) break;
    }
    if (released > 0) observer.info('messages put back into the queue', { partnerAccount, count: released });
  }

  const warn = (error: unknown, partnerAccount?: string) =>
    observer.warn('messages aside could not be put back: the next run tries again', {
      partnerAccount,
      error,
    });
  try {
    const names = await aside.accounts();
    if (names.length === 0 || (await bridgePausedUntil()) > clock.now()) return;
    await forEachConcurrent(names, accountsAtOnce, (name) =>
      releaseOf(name).catch((error: unknown) => warn(error, name)),
    );
  } catch (error) {
    warn(error);
  }
}
