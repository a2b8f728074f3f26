/**
 * The witness against an advert that is said to be gone, or that fails: another advert of its account that the service
 * answers well. Without one, the service may be answering so to everything.
 */
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import { type Clock, clockToleranceMs, knownSuccess } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import { type CachedAccounts, sharedRuns } from '../../shared/partner-api/cached-rows.ts';
import type { PartnerClient } from '../../shared/partner-api/client.ts';
import type { FeedStates } from '../../shared/state/feed-states.ts';

export interface WitnessDeps {
  readonly partnerAccounts: Pick<CachedAccounts, 'recent' | 'change'>;
  readonly feedStates: Pick<FeedStates, 'ofAccount'>;
  readonly adverts: Pick<PartnerClient, 'readAdvert'>;
  readonly clock: Clock;
}

/** A catalogue that is gone altogether has no witness: it is believed after so long, in which its feed was read. */
const aloneMs = 15 * 60_000;
/** The stored advert is replaced so often, by one that is answered well: a write an hour for each account. */
const replacedMs = 3_600_000;
/** An advert that was just asked for in vain is not asked for again by the next advert of a batch. */
const askedAgainMs = 10_000;

export type Witness = ReturnType<typeof createWitness>;

export function createWitness({ partnerAccounts, feedStates, adverts, clock }: WitnessDeps) {
  /** The advert of each account that this process saw answered well last. */
  const lastGood = new Map<string, { readonly advertId: string; readonly at: number }>();
  /** When the stored advert of an account was last asked for in vain. */
  const askedInVain = new Map<string, number>();
  /** Adverts of a batch that fail together share one look at another advert. */
  const looks = sharedRuns<boolean>();

  /** The account's row keeps one such advert, for processes that have seen none. */
  async function answeredWell(partnerAccount: string, advertId: string, at: number): Promise<void> {
    lastGood.set(partnerAccount, { advertId, at });
    const { answeredWell: stored } = (await partnerAccounts.recent(partnerAccount)) ?? {};
    if (stored && Math.abs(at - stored.at) < replacedMs) return;
    await partnerAccounts.change(partnerAccount, (account) => ({
      ...account,
      answeredWell: { advertId, at },
    }));
  }

  /** Asks for another advert, the last one that was answered well. @returns whether it still is */
  async function isOtherThere(
    { partnerAccount, advertId, generation }: ChangedAdvert,
    deadlineMs: number,
  ): Promise<boolean> {
    const { answeredWell: stored } = (await partnerAccounts.recent(partnerAccount)) ?? {};
    const other = [lastGood.get(partnerAccount)?.advertId, stored?.advertId].find(
      (known) => known !== undefined && known !== advertId,
    );
    const askedAt = askedInVain.get(partnerAccount) ?? Number.NEGATIVE_INFINITY;
    if (other === undefined || Math.abs(clock.now() - askedAt) < askedAgainMs) return false;
    return looks(`${partnerAccount}/${other}`, async () => {
      const options = { deadlineMs, generation, feed: 'adverts' } as const;
      try {
        const { receivedAt } = await adverts.readAdvert(partnerAccount, other, options);
        lastGood.set(partnerAccount, { advertId: other, at: receivedAt });
        return true;
      } catch (error) {
        askedInVain.set(partnerAccount, clock.now());
        // If it is gone too, the next one that is answered well takes its place.
        if (!(error instanceof BridgeFault) || error.code !== 'not-found') return false;
        lastGood.delete(partnerAccount);
        await partnerAccounts.change(partnerAccount, ({ answeredWell: stored, ...account }) =>
          stored?.advertId === other ? account : undefined,
        );
        return false;
      }
    });
  }

  /** Whether another advert of the account was answered well since then, or is now. */
  async function isOtherWell(message: ChangedAdvert, since: number, deadlineMs: number): Promise<boolean> {
    const good = lastGood.get(message.partnerAccount);
    const isAfter = good && good.at > since && good.at <= clock.now() + clockToleranceMs;
    if (isAfter && good.advertId !== message.advertId) return true;
    return isOtherThere(message, deadlineMs);
  }

  /**
   * Whether to believe that the advert is gone: `alone`: without a witness.
   * @param since when the service first said so, ms since 1970
   */
  async function isGone(
    message: ChangedAdvert,
    since: number,
    deadlineMs: number,
  ): Promise<boolean | 'alone'> {
    if (await isOtherWell(message, since, deadlineMs)) return true;
    // Rule: gone-needs-a-witness
    if (clock.now() - since < aloneMs) return false;
    const states = await feedStates.ofAccount(message.partnerAccount);
    return states.some(({ lastSuccess }) => (knownSuccess(lastSuccess, clock.now()) ?? 0) > since) && 'alone';
  }

  return { answeredWell, isOtherWell, isGone };
}
