/** Checks that `connect` makes at the service with a new access token. */
import { advertIdPattern } from '../../shared/contract/checks.ts';
import { advertsFeed, pageLimit } from '../../shared/contract/messages.ts';
import { dayMs, knownSuccess, toInstant } from '../../shared/domain/clock.ts';
import { asBridgeFault, BridgeFault } from '../../shared/domain/faults.ts';
import { heldBy, heldFault } from '../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import type { FeedState } from '../../shared/state/feed-states.ts';
import type { ConnectDeps } from './connected-row.ts';
import type { ConnectedAccount } from './requests.ts';

interface Look {
  readonly partnerAccount: string;
  readonly token: Secret;
  readonly deadlineMs: number;
}

/** Number of adverts looked up at a time; the first few nearly always decide. */
const lookUpAtOnce = 100;
/**
 * A slow service must not prevent the bridge from storing the pair. The time for `slotsBefore` is added: at the lowest
 * rates, the slot after the token request's is itself more than ten seconds later.
 */
const maxMs = 10_000;
const slotsBefore = 2;
/** Most users change an advert within a week, and the service is expected to keep its feed that long. */
const lookBackMs = 7 * dayMs;

export function createUserVerification(deps: ConnectDeps) {
  const { partnerAccounts, feedStates, client, advertHistories, bookKeeper, clock, settings } = deps;
  const { maxRequestsPerSecond = Number.POSITIVE_INFINITY } = settings;
  const slotsMs = (slotsBefore * 1000) / maxRequestsPerSecond;

  /** @throws {BridgeFault} */
  async function pageSince(since: string, { partnerAccount, token, deadlineMs }: Look) {
    const lookUntilMs = Math.min(deadlineMs, clock.now() + maxMs + slotsMs);
    const hold = heldBy(await partnerAccounts.read(partnerAccount), 'operator', clock.now());
    if (hold) throw heldFault(hold, partnerAccount, clock.now());
    const query = { feed: advertsFeed, since, limit: pageLimit };
    return (await client.readPage(partnerAccount, query, { token, deadlineMs: lookUntilMs })).page;
  }

  /** Whether the feed answers. Never throws, because the pair is already stored. */
  async function firstPage(since: string, look: Look): Promise<ConnectedAccount['feed']> {
    try {
      const { data, hasMore } = await pageSince(since, look);
      return { kind: 'read', listed: data.length, hasMore };
    } catch (error) {
      const { code, message } = asBridgeFault(error);
      return { kind: 'failed', fault: code, reason: message };
    }
  }

  /**
   * Refuses a different user than the one whose history is stored under the name. No answer says to which user a token
   * belongs, but the feed lists old changes again when read from an old `since` (partner-api.md §4.1): if it lists
   * none of the adverts that have a history here, it belongs to a different user.
   * @returns why there is nothing to check by; undefined for the same user
   * @throws {BridgeFault} `other-user`, also where the feed does not tell
   */
  async function verifyUser({ generation }: PartnerAccount, look: Look): Promise<string | undefined> {
    const { partnerAccount } = look;
    const books = await bookKeeper.read(partnerAccount, generation);
    const states = await feedStates.ofAccount(partnerAccount);
    const state = states.find(({ feed }) => feed === advertsFeed.name);
    if (books.events + books.unavailable === 0 || !state) return 'no event of it was published so far';
    const since = recentlyRead(state);
    const { data } = await pageSince(since, look).catch((error: unknown) => {
      throw cannotTell(`its feed did not answer: ${asBridgeFault(error).message}`);
    });
    const listed = data.filter((id): id is string => typeof id === 'string' && advertIdPattern.test(id));
    if (listed.length === 0) throw cannotTell(`its feed lists no advert since ${since}`);
    const key = { partnerAccount, generation, feed: advertsFeed.name };
    for (let start = 0; start < listed.length; start += lookUpAtOnce) {
      const some = listed.slice(start, start + lookUpAtOnce);
      const rows = await Promise.all(some.map((advertId) => advertHistories.read({ ...key, advertId })));
      if (rows.some((row) => row !== undefined)) return undefined;
    }
    throw new BridgeFault(
      'other-user',
      `another user authorized than the one of ${partnerAccount}, or it cannot be told: none of the listed adverts that changed since ${since} is known`,
    );
  }

  /** The `since` of the check: the bridge has read all changes after it, and the service still lists them. */
  function recentlyRead({ since, lastSuccess }: FeedState): string {
    const success = knownSuccess(lastSuccess, clock.now());
    if (success === undefined || success - lookBackMs <= Date.parse(since)) return since;
    return toInstant(success - lookBackMs);
  }

  return { firstPage, verifyUser };
}

const cannotTell = (why: string) =>
  new BridgeFault('other-user', `it cannot be told whether the same user authorized: ${why}`);
