/** Calls the client with the partner account's token, and renews the token if the service rejects it. */

import { feeds } from '../contract/feeds.ts';
import { PartnerError } from '../domain/faults.ts';
import type { AdvertReader } from '../ports/advert-reader.ts';
import type { FeedReader } from '../ports/feed-reader.ts';
import type { AccessToken, TokenSource } from '../ports/token-source.ts';
import type { AdvertList } from './answers.ts';
import type { AccessTokenOf, CallOptions, ListQuery, PartnerClient } from './client.ts';

export interface ReaderOptions {
  readonly client: Pick<PartnerClient, 'feedPage' | 'advert' | 'adverts'>;
  readonly tokens: TokenSource;
}

export interface AdvertLister {
  /**
   * Reads the IDs of one page of a partner account's adverts, for a backfill.
   *
   * @throws {PartnerError}
   * @see partner-api.md §4.2
   */
  listAdverts(
    partnerAccount: string,
    query: ListQuery,
    options: { readonly generation: number; readonly deadlineMs: number },
  ): Promise<AdvertList>;
}

export type PartnerReaders = FeedReader & AdvertReader & AdvertLister;

interface Whose {
  readonly partnerAccount: string;
  /** A token of another generation is not used. */
  readonly generation: number;
  readonly deadlineMs: number;
}

/** More resources than this are not remembered; then one of them is renewed for once more. */
const maxRenewedFor = 10_000;

type Send<T> = (token: AccessTokenOf, options: CallOptions) => Promise<T>;
type WithToken = <T>(whose: Whose, send: Send<T>) => Promise<T>;

/**
 * Sends a request with the partner account's token. A rejected token is renewed and the request is repeated once. If
 * the scope of the token is too small, it is reported, which stops the partner account, and the request fails, because
 * a refresh cannot widen a scope.
 */
function sendWith(tokens: TokenSource): WithToken {
  /** The version that was the renewed one when the resource rejected that, too. */
  const renewedFor = new Map<string, string>();

  return async ({ partnerAccount, generation, deadlineMs }, send) => {
    let used = { version: '', resource: '' };
    const token = (resource: string) => {
      const taken = (found: AccessToken) => {
        used = { version: found.version, resource };
        return found.token;
      };
      const found = tokens.current(partnerAccount, generation, deadlineMs, resource);
      return found instanceof Promise ? found.then(taken) : taken(found);
    };
    let isRepeated = false;
    // Rule: one-renewal-for-an-advert
    const isUndecided = ({ code }: PartnerError) =>
      code === 'token-rejected' && !isRepeated && renewedFor.get(used.resource) !== used.version;
    for (;;) {
      try {
        return await send(token, { partnerAccount, deadlineMs, isUndecided });
      } catch (fault) {
        if (!(fault instanceof PartnerError)) throw fault;
        const { version, resource } = used;
        if (fault.code === 'scope-insufficient') {
          tokens.reject(partnerAccount, version, fault.code);
          // The request has failed, whatever the result of reporting the token.
          await (async () => token(resource))().catch(() => undefined);
        }
        if (fault.code !== 'token-rejected') throw fault;
        if (!isUndecided(fault)) {
          if (renewedFor.size >= maxRenewedFor) renewedFor.clear();
          renewedFor.set(resource, version);
          throw fault;
        }
        isRepeated = true;
        tokens.reject(partnerAccount, version, fault.code);
      }
    }
  };
}

/** Reads feeds and adverts of known partner accounts. */
export function createPartnerReaders({ client, tokens }: ReaderOptions): PartnerReaders {
  const withToken = sendWith(tokens);
  return {
    readPage: (partnerAccount, query, options) =>
      withToken({ partnerAccount, ...options }, (token, callOptions) =>
        client.feedPage(token, query, callOptions),
      ),
    readAdvert: (partnerAccount, advertId, { feed, ...options }) =>
      withToken({ partnerAccount, ...options }, (token, callOptions) =>
        client.advert(token, feeds[feed], advertId, callOptions),
      ),
    listAdverts: (partnerAccount, query, options) =>
      withToken({ partnerAccount, ...options }, (token, callOptions) =>
        client.adverts(token, query, callOptions),
      ),
  };
}
