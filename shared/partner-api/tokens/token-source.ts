import { type Clock, systemClock } from '../../domain/clock.ts';
import { asPartnerError, PartnerError } from '../../domain/faults.ts';
import type { PartnerAccount } from '../../domain/partner-account.ts';
import type { RefreshRequester } from '../../ports/refresh-requester.ts';
import type { AccessToken, TokenGuard, TokenSource } from '../../ports/token-source.ts';
import type { TokenReader } from '../../ports/token-vault.ts';
import type { ViewedAccounts } from './account-views.ts';
import { type CachedToken, TokenCache } from './token-cache.ts';
import { type Rejected, TokenRenewals } from './token-renewals.ts';
import { refusePaused, usableAccount } from './usable-account.ts';

export interface TokenSourceOptions {
  readonly reader: TokenReader;
  readonly requester: RefreshRequester;
  /** The rows of partner accounts: they name the valid token version and generation, and contain stops and pauses. */
  readonly accounts: Pick<ViewedAccounts, 'view' | 'read' | 'seen' | 'keepInView'>;
  readonly clock?: Clock;
}

/** Creates the source; one per process, so that all callers share reads and refreshes. */
export const createTokenSource = (options: TokenSourceOptions): TokenSource => new SharedTokenSource(options);

/**
 * Access tokens of partner accounts. A token is used only while the account's row names its version, and only for the
 * generation of that row. So after `disconnect`, another `connect` or a change of the user, no process uses the old
 * token any more (account-views.ts says how old the row may be). The secret is read once for each version. To replace
 * an expired token, the source asks the refresh-token stage, the only writer of tokens, and then reads the secret
 * again; the stage never passes tokens on.
 *
 * @see partner-api.md §5.3
 */
class SharedTokenSource implements TokenSource {
  readonly #tokens: TokenCache;
  readonly #renewals: TokenRenewals;
  readonly #accounts: TokenSourceOptions['accounts'];
  readonly #clock: Clock;
  /** The last rejected version and the reason; it is not tried again. */
  readonly #rejections = new Map<string, Rejected>();

  constructor({ reader, requester, accounts, clock = systemClock }: TokenSourceOptions) {
    this.#tokens = new TokenCache(reader);
    this.#renewals = new TokenRenewals({ tokens: this.#tokens, requester, accounts, clock });
    this.#accounts = accounts;
    this.#clock = clock;
  }

  async current(name: string, generation: number, deadlineMs: number): Promise<AccessToken> {
    const { token } = await this.#viewed(name, generation);
    const found = await this.#tokens.read(name, token?.version);
    if (found && this.#isUsable(name, found)) return found;
    // A token that has expired, or was rejected before, would only waste a request.
    const rejection = this.#rejections.get(name);
    const because = found && rejection?.version === found.version ? rejection.because : 'expired';
    return this.#replaced({ name, generation, version: found?.version, because }, deadlineMs);
  }

  renewed(...[name, generation, version, because, deadlineMs]: Parameters<TokenSource['renewed']>) {
    return this.#replaced({ name, generation, version, because }, deadlineMs);
  }

  guard(name: string, generation: number, version: string): TokenGuard {
    const usable = (account: PartnerAccount | undefined) =>
      usableAccount(name, generation, account, this.#clock.now());
    return {
      beforeSend: () => {
        const seen = this.#accounts.seen(name);
        if (!seen) return this.#viewed(name, generation);
        // Planted fault: version-not-compared
        if (usable(seen.account).token?.version === version) return undefined;
        throw new PartnerError(
          'token-rejected',
          `not sent: the token of partner account ${name} was replaced`,
        );
      },
      release: this.#accounts.keepInView(name),
    };
  }

  /** Returns a token other than the rejected one: the current one if it is newer, otherwise a renewed one. */
  async #replaced(rejected: Rejected, deadlineMs: number): Promise<AccessToken> {
    const { name, generation, version } = rejected;
    const account = await this.#viewed(name, generation);
    const known = account.token?.version === version ? undefined : this.#tokens.known(name);
    if (known && known.version === account.token?.version && this.#isUsable(name, known)) return known;
    if (version !== undefined) this.#rejections.set(name, rejected);
    refusePaused(account, this.#clock.now());
    return this.#renewals.renewed(rejected, deadlineMs).catch((error: unknown) => {
      throw asPartnerError(error);
    });
  }

  async #viewed(name: string, generation: number): Promise<PartnerAccount> {
    const account = await this.#accounts.view(name, generation).catch((error: unknown) => {
      throw asPartnerError(error);
    });
    return usableAccount(name, generation, account, this.#clock.now());
  }

  #isUsable(name: string, { version, expiresAt }: CachedToken): boolean {
    return expiresAt > this.#clock.now() && this.#rejections.get(name)?.version !== version;
  }
}
