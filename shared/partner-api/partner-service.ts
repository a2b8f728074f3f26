/** Creates the readers of the partner service, for functions, commands and the embedded bridge. */

import { type FeedName, feeds } from '../contract/messages.ts';
import { systemClock } from '../domain/clock.ts';
import type { CallOptions, FeedQuery } from '../ports/readers.ts';
import type { RefreshRequester, TokenVault } from '../ports/tokens.ts';
import type { PartnerAccounts } from '../state/partner-accounts.ts';
import { createCachedAccounts } from './cached-rows.ts';
import {
  createGates,
  createPartnerClient,
  type ListQuery,
  type PartnerClient,
  type PartnerClientOptions,
} from './client.ts';
import { createTokenSource, type TokenSource, withTokenOf } from './token-source.ts';

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
  const accounts = createCachedAccounts(options.accounts, clock);
  const gates = createGates(options, accounts);
  const client = createPartnerClient(options, gates);
  const tokens = createTokenSource({ reader, requester, accounts, holds: gates.holds, clock });
  return { client, accounts, ...createPartnerReaders(client, tokens) };
}

export type PartnerReaders = ReturnType<typeof createPartnerReaders>;

/** Reads feeds and adverts, each with the partner account's current token. All functions throw {BridgeFault}. */
export function createPartnerReaders(
  client: Pick<PartnerClient, 'feedPage' | 'advert' | 'adverts'>,
  tokens: Pick<TokenSource, 'current' | 'reject'>,
) {
  const withToken = withTokenOf(tokens);
  return {
    readPage: (partnerAccount: string, query: FeedQuery, options: CallOptions) =>
      withToken({ partnerAccount, ...options }, (token, call) => client.feedPage(token, query, call)),
    readAdvert: (
      partnerAccount: string,
      advertId: string,
      { feed, ...options }: CallOptions & { readonly feed: FeedName },
    ) =>
      withToken({ partnerAccount, ...options }, (token, call) =>
        client.advert(token, feeds[feed], advertId, call),
      ),
    /** The IDs of one page of the partner account's adverts. @see partner-api.md §4.2 */
    listAdverts: (partnerAccount: string, query: ListQuery, options: CallOptions) =>
      withToken({ partnerAccount, ...options }, (token, call) => client.adverts(token, query, call)),
  };
}
