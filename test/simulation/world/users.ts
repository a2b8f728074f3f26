/**
 * The users behind the bridge's names: a name belongs to one user of the service, and later perhaps to another. A
 * token, a cursor and a history belong to the user that they came from, whatever the name.
 */
import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { stopOf } from '../../../shared/domain/partner-account.ts';
import type { TokenPair } from '../../../shared/domain/secret.ts';
import type { WireRequest } from '../../../shared/partner-api/transport.ts';
import type { Fetch } from '../model/history.ts';
import type { Model } from '../model/model.ts';
import { pick, type Random } from '../model/random.ts';
import type { Page } from '../model/service.ts';

/** How long the bridge may use a token after its user has lost the name. */
const graceMs = 5_000;

/** The name under which a user is connected: the first user has the same name, the others are `main+2`, `main+3` … */
export const nameOf = (user: string): string => user.split('+')[0] ?? user;

const numbered = (name: string, number: number): string => (number === 1 ? name : `${name}+${number}`);
const numberOf = (user: string): number => Number(user.split('+')[1] ?? 1);

/** The access token of a request. */
export const tokenIn = ({ headers }: Pick<WireRequest, 'headers'>): string =>
  /^Bearer (.*)/.exec(headers[headers.indexOf('Authorization') + 1] ?? '')?.[1] ?? '';

/** No advert has two owners: IDs are unique in the whole service. */
const idOf = (user: string, advertId: string): string =>
  numberOf(user) === 1 ? advertId : `${numberOf(user)}${advertId}`;

export function createUsers({ scheduler, service, history }: Model) {
  const current = new Map<string, string>();
  const userOfVersion = new Map<string, string>();
  /** By name and generation; `undefined` if a person has connected two users in the same generation. */
  const userOfGeneration = new Map<string, string | undefined>();
  /** The user that the row has named since a given time; undefined while the account is stopped. */
  const rows = new Map<string, { readonly fromMs: number; readonly user: string | undefined }[]>();
  /** Names under which a person tries another user without saying so, which the bridge cannot always detect. */
  const unsure = new Set<string>();

  /** Until when requests for a generation with two users may still be under way. */
  const uncertainUntil = new Map<string, number>();

  const currentOf = (name: string): string => current.get(name) ?? name;
  const violated = (name: string, message: string) =>
    history.violated({ invariant: 'credentials-kept', subject: name, message });
  const keyOf = (name: string, generation: number) => `${name}/${generation}`;

  function rowSays(name: string, user: string | undefined): void {
    rows.set(name, [...(rows.get(name) ?? []), { fromMs: scheduler.now(), user }]);
  }

  /** Whether the row has named `user` at any time in the last five seconds. */
  function isNamed(name: string, user: string): boolean {
    const rowsSoFar = rows.get(name) ?? [];
    return rowsSoFar.some(
      (one, index) =>
        one.user === user &&
        (rowsSoFar[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY) >= scheduler.now() - graceMs,
    );
  }

  /** The user of a generation, if it is certain. */
  const certainUser = (name: string, generation: number) =>
    unsure.has(name) ? undefined : userOfGeneration.get(keyOf(name, generation));

  return {
    currentOf,
    unsure,
    /** From now on, the name belongs to the next user. */
    next(name: string): void {
      current.set(name, numbered(name, numberOf(currentOf(name)) + 1));
    },
    /**
     * The user whose advert changes: any of the users that the name will have, because each has a feed from the
     * start.
     */
    whose(name: string, advertId: string, count: number, random: Random) {
      const user = count === 1 ? name : numbered(name, pick(random, [1, 2, 2, count]));
      return { user, advertId: idOf(user, advertId) };
    },
    stored(version: string, { accessToken }: TokenPair): void {
      const user = service.tokens.accountOf(accessToken.reveal());
      if (user !== undefined) userOfVersion.set(version, user);
    },
    removed: (name: string): void => rowSays(name, undefined),
    /** Only a `connect` may name a user who cannot be verified: it tells the person. */
    rowWritten(process: string, account: PartnerAccount, before: PartnerAccount | undefined): void {
      const { name, generation, token } = account;
      const isNextGeneration = before !== undefined && generation > before.generation;
      if (isNextGeneration) history.forgets(name, before.generation);
      if (isNextGeneration && isUncertain(name)) uncertainUntil.set(name, scheduler.now() + graceMs);
      if (isNextGeneration || !before) unsure.delete(name);
      const user = token && !stopOf(account) ? userOfVersion.get(token.version) : undefined;
      rowSays(name, user);
      if (user === undefined) return;
      const key = keyOf(name, generation);
      const known = userOfGeneration.get(key);
      if (!userOfGeneration.has(key)) userOfGeneration.set(key, user);
      else if (known !== undefined && known !== user) {
        userOfGeneration.set(key, undefined);
        if (!unsure.has(name) || !process.startsWith('connect'))
          violated(
            name,
            `generation ${generation} of ${name} is that of ${known}, and got a token of ${user}`,
          );
      }
    },
    /** Called when drain or fan-out sends a request. */
    requestSent(process: string, wire: WireRequest): void {
      const { path } = wire;
      if (path.endsWith('/oauth/token') || !/^(drain|worker)/.test(process)) return;
      const user = service.tokens.accountOf(tokenIn(wire)) ?? '';
      const name = nameOf(user);
      if (!isNamed(name, user))
        violated(
          name,
          `${process} sent ${path} with a token of ${user} that has not been ${name}'s for five seconds`,
        );
      const cursor = new URL(path, 'http://service').searchParams.get('cursor');
      const owner = service.pages.get(cursor ?? '')?.account;
      if (owner !== undefined && owner !== user && !isUncertain(name))
        violated(name, `${process} sent a cursor of ${owner} with a token of ${user}`);
    },
    /** Called when a page's adverts were put into the queue. */
    listed({ partnerAccount: name, generation, advertId }: ChangedAdvert, page: Page | undefined): void {
      const user = certainUser(name, generation);
      if (user === undefined || !page || page.account === user) return;
      violated(
        name,
        `advert ${advertId} of ${page.account} was listed for generation ${generation}, which is ${user}'s`,
      );
    },
    /** Called when the result of a fetch was written into the advert's history. */
    fetchWritten(
      key: { readonly partnerAccount: string; readonly generation: number },
      fetch: Fetch | undefined,
    ): void {
      const user = certainUser(key.partnerAccount, key.generation);
      if (user === undefined || !fetch || fetch.user === user) return;
      const { advertId, status } = fetch;
      violated(
        key.partnerAccount,
        `what ${fetch.user} sees of advert ${advertId} (${status}) came into generation ${key.generation}, which is ${user}'s`,
      );
    },
  };

  function isUncertain(name: string): boolean {
    if (unsure.has(name) || scheduler.now() <= (uncertainUntil.get(name) ?? 0)) return true;
    const keys = [...userOfGeneration.keys()].filter((key) => key.startsWith(`${name}/`));
    const last = keys.at(-1);
    return last !== undefined && userOfGeneration.get(last) === undefined;
  }
}
