/** Creates the readers of the partner service, for functions, commands and the embedded bridge. */

import { feeds } from '../contract/messages.ts';
import { systemClock } from '../domain/clock.ts';
import type { AdvertReader, FeedReader } from '../ports/readers.ts';
import type { RefreshRequester, TokenVault } from '../ports/tokens.ts';
import type { PartnerAccounts } from '../state/partner-accounts.ts';
import type { AdvertList } from './answers.ts';
import { CachedAccounts } from './cached-rows.ts';
import {
  createGates,
  createPartnerClient,
  type ListQuery,
  type PartnerClient,
  type PartnerClientOptions,
} from './client.ts';
import { TokenSource, withTokenOf } from './token-source.ts';

export interface PartnerServiceOptions extends PartnerClientOptions {
  readonly accounts: Pick<PartnerAccounts, 'list' | 'read' | 'change'>;
  readonly tokenReader: Pick<TokenVault, 'read'>;
  readonly requester: RefreshRequester;
}

/**
 * The readers for known partner accounts, with tokens that are renewed when they expire; one per process.
 * @returns also the client, and `accounts`: the cached rows, to use instead of the given port
 */
export function createPartnerService(options: PartnerServiceOptions) {
  const { tokenReader: reader, requester, clock = systemClock } = options;
  const accounts = new CachedAccounts(options.accounts, clock);
  const gates = createGates(options, accounts);
  const client = createPartnerClient(options, gates);
  const tokens = new TokenSource({ reader, requester, accounts, holds: gates.holds, clock });
  return { client, accounts, ...createPartnerReaders(client, tokens) };
}

export interface AdvertLister {
  /** The IDs of one page of a partner account's adverts. @throws {BridgeFault} @see partner-api.md §4.2 */
  listAdverts(
    partnerAccount: string,
    query: ListQuery,
    options: { readonly generation: number; readonly deadlineMs: number },
  ): Promise<AdvertList>;
}

/** Reads feeds and adverts of known partner accounts. */
export function createPartnerReaders(
  client: Pick<PartnerClient, 'feedPage' | 'advert' | 'adverts'>,
  tokens: Pick<TokenSource, 'current' | 'reject'>,
): FeedReader & AdvertReader & AdvertLister {
  const withToken = withTokenOf(tokens);
  return {
    readPage: (partnerAccount, query, options) =>
      withToken({ partnerAccount, ...options }, (token, call) => client.feedPage(token, query, call)),
    readAdvert: (partnerAccount, advertId, { feed, ...options }) =>
      withToken({ partnerAccount, ...options }, (token, call) =>
        client.advert(token, feeds[feed], advertId, call),
      ),
    listAdverts: (partnerAccount, query, options) =>
      withToken({ partnerAccount, ...options }, (token, call) => client.adverts(token, query, call)),
  };
}
