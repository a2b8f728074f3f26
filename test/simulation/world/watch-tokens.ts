/**
 * Checks `credentials-kept`: one refresh at a time, the newest refresh token is kept, and a stop has a reason. Counts what
 * renewing costs (checks/renewals.ts).
 */
import { type PartnerAccount, stopOf } from '../../../shared/domain/partner-account.ts';
import type { TokenPair } from '../../../shared/domain/secret.ts';
import type { WireRequest } from '../../../shared/partner-api/transport.ts';
import type { Model } from '../model/model.ts';
import type { Process } from './process.ts';
import { nameOf } from './users.ts';

/** @param given the body of a good answer that arrived; undefined: there was none */
export type EndOfRequest = (given: string | undefined) => void;

const textOf = ({ accessToken, refreshToken, scope }: TokenPair): string =>
  [accessToken.reveal(), refreshToken.reveal(), scope].join();

export function createTokenWatch({ service, history, scheduler }: Model) {
  /** For each account, the processes that have requested a token pair and not stored it yet. */
  const refreshing = new Map<string, Set<Process>>();
  /** Versions that are no longer current, with the order in which they were replaced. */
  const replaced = new Map<string, number>();
  const current = new Map<string, string>();
  const rejections = new Map<Process, number>();
  /** Processes that have received a pair and done nothing with it yet. */
  const unstored = new Map<string, Set<Process>>();
  /** Tokens and scope of the pair that each account's secret has, and of each version. */
  const secrets = new Map<string, string>();
  const versions = new Map<string, string>();
  let order = 0;
  const asked: number[] = [];
  const lateMs: number[] = [];
  let failed = 0;
  let repeats = 0;

  /**
   * Whether an answer gave the pair that is stored: then nothing has to be stored. If an older one was written late while
   * the service answered, the next refresh stores it again.
   */
  function isStored(account: string, body: string): boolean {
    const { access_token, refresh_token, scope } = JSON.parse(body) as Record<string, string>;
    const named = versions.get(`${account} ${current.get(account)}`);
    return [secrets.get(account), named].includes([access_token, refresh_token, scope].join());
  }

  function becameCurrent(account: string, version: string): void {
    order += 1;
    const before = current.get(account);
    if (before !== undefined) replaced.set(`${account} ${before}`, order);
    current.set(account, version);
  }

  const isRefresh = (process: Process) =>
    process.name.startsWith('refresh') || process.name.startsWith('sweep');

  return {
    /** When the token endpoint was asked, ms. */
    asked: asked as readonly number[],
    /** For each request with a token that the service had ended: how long ago. */
    lateMs: lateMs as readonly number[],
    /** How often an account was written whose last renewal failed. */
    failed: () => failed,
    /** How often a pair was stored that was stored already. */
    repeats: () => repeats,
    rejected(access: string): void {
      const endedAt = service.tokens.endedAt(access);
      if (endedAt !== undefined) lateMs.push(scheduler.now() - endedAt);
    },
    requestStarted(process: Process, { path, body }: WireRequest): EndOfRequest {
      if (!path.endsWith('/oauth/token')) return () => undefined;
      asked.push(scheduler.now());
      if (!isRefresh(process)) return () => undefined;
      const { refresh_token: text } = JSON.parse(body ?? '{}') as { refresh_token: string };
      const account = nameOf(service.tokens.accountOf(text) ?? '');
      const busy = refreshing.get(account) ?? new Set();
      refreshing.set(account, busy);
      const other = [...busy].find((one) => one !== process && !one.isDead() && !one.wasFrozen());
      if (other) {
        const message = `${process.name} refreshes ${account} while ${other.name} has not stored its pair yet`;
        history.violated({ invariant: 'credentials-kept', subject: account, message });
      }
      busy.add(process);
      return (given) => {
        order += 1;
        if (given !== undefined && !isStored(account, given))
          unstored.set(account, (unstored.get(account) ?? new Set()).add(process));
        if (!service.tokens.opens(text)) {
          busy.delete(process);
          rejections.set(process, order);
        }
      };
    },
    /** A process is about to store a pair, successfully or not. */
    storing(process: Process, account: string): void {
      unstored.get(account)?.delete(process);
    },
    stored(process: Process, account: string, pair: TokenPair, version: string): void {
      if (secrets.get(account) === textOf(pair)) repeats += 1;
      secrets.set(account, textOf(pair));
      versions.set(`${account} ${version}`, textOf(pair));
      refreshing.get(account)?.delete(process);
    },
    accountWritten(process: Process, account: PartnerAccount, before: PartnerAccount | undefined): void {
      const { name, token, refreshing: lock } = account;
      const stop = stopOf(account);
      if (account.renewal?.fault !== undefined) failed += 1;
      if (token && token.version !== current.get(name)) becameCurrent(name, token.version);
      if (unstored.get(name)?.has(process)) {
        const message = `${process.name} wrote about ${name} before it stored the pair it was given`;
        history.violated({ invariant: 'credentials-kept', subject: name, message });
      }
      // The process released the lock: it received no pair, so there is nothing to store.
      if (!lock) refreshing.get(name)?.delete(process);
      if (stop?.reason !== 'refresh-token-rejected' || (before && stopOf(before))) return;
      const replacedAt = replaced.get(`${name} ${token?.version}`);
      const rejectedAt = rejections.get(process);
      if (replacedAt === undefined || rejectedAt === undefined || replacedAt > rejectedAt) return;
      const message = `${process.name} stopped ${name} for a token that had been replaced before it was rejected`;
      history.violated({ invariant: 'credentials-kept', subject: name, message });
    },
  };
}
