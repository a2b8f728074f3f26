/**
 * The witness against an advert that is said to be gone: another advert of its account that the service answers well.
 * Without one, the service may be answering 404 to everything.
 */
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import type { CachedAccounts } from '../../shared/partner-api/cached-rows.ts';
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
    const options = { deadlineMs, generation, feed: 'adverts' } as const;
    try {
      const { receivedAt } = await adverts.readAdvert(partnerAccount, other, options);
      lastGood.set(partnerAccount, { advertId: other, at: receivedAt });
      return true;
    } catch {
      askedInVain.set(partnerAccount, clock.now());
      lastGood.delete(partnerAccount);
      // It may be gone too: the next one that is answered well takes its place.
      await partnerAccounts.change(partnerAccount, ({ answeredWell: stored, ...account }) =>
        stored?.advertId === other ? account : undefined,
      );
      return false;
    }
  }

  /** @param since when the service first said that the advert is gone, ms since 1970 */
  async function isGone(message: ChangedAdvert, since: number, deadlineMs: number): Promise<boolean> {
    const { partnerAccount, advertId } = message;
    const good = lastGood.get(partnerAccount);
    if (good && good.advertId !== advertId && good.at > since) return true;
    if (await isOtherThere(message, deadlineMs)) return true;
    // Rule: gone-needs-a-witness
    if (clock.now() - since < aloneMs) return false;
    const states = await feedStates.ofAccount(partnerAccount);
    return states.some(({ lastSuccess = 0 }) => lastSuccess > since);
  }

  return { answeredWell, isGone };
}
