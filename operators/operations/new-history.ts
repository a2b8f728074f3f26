/**
 * Begins a new generation of a partner account with the token that it has: after a restore, or a lost table of histories,
 * subscribers would discard what is published in the old one.
 */
import { nextGeneration } from '../../functions/connect/connected-row.ts';
import { restartOf } from '../../functions/drain/read-page.ts';
import { accountBusy, exclusively } from '../../functions/refresh-token/refresh-lock.ts';
import { feeds } from '../../shared/contract/messages.ts';
import { earlierOf, toInstant } from '../../shared/domain/clock.ts';
import { stopOf } from '../../shared/domain/partner-account.ts';
import type { Bridge } from './bridge.ts';

/** How long to wait for a running refresh. */
const waitMs = 2_000;

/**
 * May be repeated: each call begins another generation.
 *
 * @param wanted where reading begins; an earlier unread part of the feed is read as well
 * @returns undefined for an account that is stopped: only its user can connect it again
 * @throws {BridgeFault} `account-busy` while its token is being refreshed, or it is being connected
 */
export async function beginNewHistory(
  bridge: Pick<Bridge, 'partnerAccounts' | 'feedStates' | 'clock' | 'newId' | 'settings'>,
  partnerAccount: string,
  wanted: string | undefined,
) {
  const { feedStates, clock } = bridge;
  const { overlapSeconds } = await bridge.settings();
  return await exclusively(bridge, partnerAccount, { deadlineMs: clock.now() + waitMs }, async (lock) => {
    const { account } = lock;
    if (!account?.token || stopOf(account)) return undefined;
    const { generation: former, token } = account;
    const registered = await feedStates.ofAccount(partnerAccount);
    const [nowMs, overlapMs] = [clock.now(), overlapSeconds * 1000];
    const recently = toInstant(nowMs - overlapMs);
    const adverts = registered.find(({ feed }) => feed === feeds.adverts.name);
    const unread = adverts ? restartOf(adverts, overlapMs, nowMs) : recently;
    const since = earlierOf(unread, wanted ?? recently);
    const generation = nextGeneration(nowMs, [former, ...registered.map((feed) => feed.generation)]);
    // The feeds come first, so that a row that is polled always has feeds of its generation.
    const fresh = { partnerAccount, generation, since, resets: 0, resetsInARow: 0 };
    for (const { name: feed } of Object.values(feeds)) await feedStates.register({ ...fresh, feed });
    const isChanged = await lock.change((current) => ({
      ...current,
      generation,
      connectedAt: toInstant(nowMs),
      token: { ...token, issuedFor: token.issuedFor ?? former },
    }));
    if (!isChanged) throw accountBusy(partnerAccount);
    return { partnerAccount, generation, since };
  });
}
