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
  /** Says which version of the token counts, for which generation; a stop or a pause is seen there, too. */
  readonly accounts: Pick<ViewedAccounts, 'view' | 'read' | 'seen' | 'keepInView'>;
  readonly clock?: Clock;
}

/** Creates the source; one for each process, so that all its callers share what is read and refreshed. */
export const createTokenSource = (options: TokenSourceOptions): TokenSource => new SharedTokenSource(options);

/**
 * Access tokens of partner accounts. A token is used only while its version is the one in the account's row, and only for
 * the generation of that row: so one that was disconnected, connected again or given to another user is out of use at
 * once, in every process (see account-views.ts for how old the row may be). The secret is read once for each version.
 * When a token has expired the refresh-token stage is asked, which alone writes them: what it has refreshed is read
 * again, never passed on.
 *
 * @see partner-api.md §5.3
 */
class SharedTokenSource implements TokenSource {
  readonly #tokens: TokenCache;
  readonly #renewals: TokenRenewals;
  readonly #accounts: TokenSourceOptions['accounts'];
  readonly #clock: Clock;
  /** The version that was rejected last, and why: not to be tried again. */
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
    // One that has expired, or was rejected before, would only burn a request.
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

  /** A token other than the rejected one: one that is there by now, or a renewed one. */
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
