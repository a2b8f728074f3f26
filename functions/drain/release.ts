import type { Clock } from '../../shared/domain/clock.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import { operatorPauseOf } from '../../shared/domain/operator-pause.ts';
import { pauseOf, stopOf } from '../../shared/domain/partner-account.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { ParkedMessages } from '../../shared/ports/parked-messages.ts';
import type { PartnerAccounts } from '../../shared/ports/partner-accounts.ts';

export interface ReleaseDeps {
  readonly accounts: PartnerAccounts;
  readonly parked: ParkedMessages;
  /** `quietUntil` of the shared rate budget as it is now. */
  readonly bridgePausedUntil: () => Promise<number>;
  readonly observer: Observer;
  readonly clock: Clock;
  readonly settings: {
    /** Put back at most for each partner account: as many as the drain lets wait. The rest follows in the next run. */
    readonly maxWaiting: number;
  };
}

const accountsAtOnce = 4;

/**
 * Puts back what is parked of every partner account that is neither stopped nor paused, unless the whole bridge is: by
 * what is so now, however long it was meant to last when the messages were parked. Those of an account that is not known
 * any more come back too, for fan-out to let go of. What is parked counts for the drain's view of a backlog, so this
 * must not depend on whether a feed is polled.
 *
 * Never rejects: what could not be put back stays for the next run.
 */
export async function releaseParked(deps: ReleaseDeps, deadlineMs: number): Promise<void> {
  const { accounts, parked, bridgePausedUntil, observer, clock, settings } = deps;

  async function releaseOf(partnerAccount: string): Promise<void> {
    const account = (await accounts.read(partnerAccount))?.value;
    const now = clock.now();
    if (account && (stopOf(account) || pauseOf(account, now) || operatorPauseOf(account, now))) return;
    const count = await parked.release(partnerAccount, { most: settings.maxWaiting, deadlineMs });
    if (count > 0) observer.info('parked messages put back into the queue', { partnerAccount, count });
  }

  const warn = (error: unknown, partnerAccount?: string) =>
    observer.warn('parked messages could not be put back: the next run tries again', {
      partnerAccount,
      error,
    });
  try {
    const names = await parked.accounts();
    if (names.length === 0 || (await bridgePausedUntil()) > clock.now()) return;
    await forEachConcurrent(names, accountsAtOnce, (name) =>
      releaseOf(name).catch((error: unknown) => warn(error, name)),
    );
  } catch (error) {
    warn(error);
  }
}
