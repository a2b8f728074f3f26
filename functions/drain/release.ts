import type { Clock } from '../../shared/domain/clock.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import { operatorPauseOf } from '../../shared/domain/operator-pause.ts';
import { pauseOf, stopOf } from '../../shared/domain/partner-account.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { ParkedMessages } from '../../shared/ports/parked-messages.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';

export interface ReleaseDeps {
  readonly accounts: Pick<PartnerAccounts, 'read'>;
  readonly parked: ParkedMessages;
  /** `quietUntil` of the shared rate budget as it is now. */
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

/**
 * Puts the parked messages of every partner account back into the queue, unless the account is stopped or paused, or
 * the whole bridge is paused. The present state decides, not the expected end of the wait when the messages were
 * parked. Messages of an unknown account are put back too; fan-out then discards them. Parked messages count towards a
 * feed's backlog, so this function must run even for feeds that are not polled.
 *
 * Never rejects: messages that could not be put back stay parked until the next run.
 */
export async function releaseParked(deps: ReleaseDeps, deadlineMs: number): Promise<void> {
  const { accounts, parked, bridgePausedUntil, observer, clock, settings } = deps;

  async function releaseOf(partnerAccount: string): Promise<void> {
    const account = await accounts.read(partnerAccount);
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
