import type { RefreshOutcome, Rejection } from '../../contract/refresh-token.ts';
import { type Clock, systemClock } from '../../domain/clock.ts';
import { asPartnerError, PartnerError } from '../../domain/faults.ts';
import { operatorPausedFault, operatorPauseOf } from '../../domain/operator-pause.ts';
import type { PartnerAccount } from '../../domain/partner-account.ts';
import { pauseOf, stopOf } from '../../domain/partner-account.ts';
import type { RefreshRequester } from '../../ports/refresh-requester.ts';
import type { AccessToken, TokenGuard, TokenSource } from '../../ports/token-source.ts';
import type { TokenReader } from '../../ports/token-vault.ts';
import type { ViewedAccounts } from './account-views.ts';
import {
  generationOverFault,
  notRenewedFault,
  pausedFault,
  refreshFault,
  stoppedFault,
} from './token-faults.ts';

export interface TokenSourceOptions {
  readonly reader: TokenReader;
  readonly requester: RefreshRequester;
  /** Says which version of the token counts, for which generation; a stop or a pause is seen there, too. */
  readonly accounts: Pick<ViewedAccounts, 'view' | 'read' | 'seen' | 'keepInView'>;
  readonly clock?: Clock;
}

interface Kept extends AccessToken {
  readonly expiresAt: number;
}

/** A token that is not to be used any more. */
interface Rejected {
  readonly name: string;
  readonly generation: number;
  /** Undefined where none was rejected: row and secret differ. */
  readonly version: string | undefined;
  readonly because: Rejection;
}

interface Renewal {
  readonly ended: Promise<Kept>;
  /** Of the caller that began it. */
  readonly deadlineMs: number;
}

/** Between two looks at a row that another process is about to write. */
const lookMs = 500;

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
  readonly #reader: TokenReader;
  readonly #requester: RefreshRequester;
  readonly #accounts: TokenSourceOptions['accounts'];
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  /** The version that was rejected last, and why: not to be tried again. */
  readonly #rejections = new Map<string, Rejected>();
  readonly #reads = new Map<string, Promise<Kept>>();
  readonly #renewals = new Map<string, Renewal>();

  constructor({ reader, requester, accounts, clock = systemClock }: TokenSourceOptions) {
    this.#reader = reader;
    this.#requester = requester;
    this.#accounts = accounts;
    this.#clock = clock;
  }

  async current(name: string, generation: number, deadlineMs: number): Promise<AccessToken> {
    const { token } = await this.#viewed(name, generation);
    const found = await this.#tokenOf(name, token?.version);
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
    return {
      beforeSend: () => {
        const seen = this.#accounts.seen(name);
        if (!seen) return this.#viewed(name, generation);
        // Planted fault: version-not-compared
        if (this.#allowed(name, generation, seen.account).token?.version === version) return undefined;
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
    const known = account.token?.version === version ? undefined : this.#kept.get(name);
    if (known && known.version === account.token?.version && this.#isUsable(name, known)) return known;
    if (version !== undefined) this.#rejections.set(name, rejected);
    this.#refusePaused(account);
    return this.#renewal(rejected, deadlineMs).catch((error: unknown) => {
      throw asPartnerError(error);
    });
  }

  /** The renewal that is under way, or a new one; one at a time for each version. */
  async #renewal(rejected: Rejected, deadlineMs: number): Promise<Kept> {
    const { name, generation, version, because } = rejected;
    const key = `${name} ${generation} ${version} ${because}`;
    const running = this.#renewals.get(key);
    if (!running) {
      const ended = this.#renew(rejected, deadlineMs).finally(() => this.#renewals.delete(key));
      this.#renewals.set(key, { ended, deadlineMs });
      return ended;
    }
    if (running.deadlineMs >= deadlineMs) return this.#beforeDeadline(running, name, deadlineMs);
    const found = await running.ended.catch((error: unknown) => {
      // The other caller's deadline has passed; this one has more time.
      const { code, retryAfterMs = lookMs } = asPartnerError(error);
      const ranOut = code === 'transient' && this.#clock.now() + retryAfterMs >= running.deadlineMs;
      if (!ranOut) throw error;
    });
    return found ?? this.#renewal(rejected, deadlineMs);
  }

  /** The renewal that others wait for goes on when this caller's deadline has passed. */
  async #beforeDeadline(renewal: Renewal, name: string, deadlineMs: number): Promise<Kept> {
    if (renewal.deadlineMs === deadlineMs) return renewal.ended;
    const done = new AbortController();
    const late = this.#clock.sleep(deadlineMs - this.#clock.now(), done.signal).then((): Kept => {
      throw notRenewedFault(name, lookMs);
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([renewal.ended, late]);
    } finally {
      done.abort();
    }
  }

  /** Goes on until there is a token of another version, or a fault that says why there will be none. */
  async #renew(rejected: Rejected, deadlineMs: number): Promise<Kept> {
    const { name, generation, version: rejectedVersion } = rejected;
    let isToldRenewed = false;
    for (let avoided = rejectedVersion; ; ) {
      const account = this.#allowed(name, generation, (await this.#accounts.read(name))?.value);
      const version = account.token?.version;
      const found = version === avoided ? undefined : await this.#tokenOf(name, version);
      if (found && this.#isGood(found)) return found;
      if (found) avoided = found.version;
      let waitMs = lookMs;
      // Not twice in a row: a renewed token may take a moment to be seen.
      if (!isToldRenewed) {
        this.#refusePaused(account);
        // All that is known of another version is that it has expired.
        const because = version === rejectedVersion ? rejected.because : 'expired';
        const outcome = await this.#ask(name, version, because, deadlineMs);
        isToldRenewed = outcome.kind === 'renewed';
        if (outcome.kind === 'renewed') continue;
        waitMs = Math.max(this.#waitOf(outcome, name), lookMs);
      }
      isToldRenewed = false;
      if (this.#clock.now() + waitMs >= deadlineMs) throw notRenewedFault(name, waitMs);
      await this.#clock.sleep(waitMs);
    }
  }

  #ask(
    partnerAccount: string,
    version: string | undefined,
    because: Rejection,
    deadlineMs: number,
  ): Promise<RefreshOutcome> {
    const request = { partnerAccount, rejectedVersion: version ?? '', because };
    return this.#requester.refresh(request, { deadlineMs }).catch((error: unknown) => {
      const { code, message } = asPartnerError(error);
      return { kind: 'failed', fault: code, reason: message };
    });
  }

  /** @returns how long to wait while another process refreshes; throws in every other case */
  #waitOf(outcome: Exclude<RefreshOutcome, { kind: 'renewed' }>, name: string): number {
    switch (outcome.kind) {
      case 'busy':
        return outcome.retryAfterMs;
      case 'paused':
        throw pausedFault(name, outcome.reason, outcome.untilMs - this.#clock.now());
      case 'stopped':
        throw stoppedFault(name, outcome.reason);
      case 'failed':
        throw refreshFault(name, outcome.fault, outcome.reason);
    }
  }

  /**
   * The token of `version`; callers side by side share one reading of the secret.
   *
   * @returns undefined when the secret has another version: one of row and secret is about to be written, or who was to
   * write it has died
   */
  async #tokenOf(name: string, version: string | undefined): Promise<Kept | undefined> {
    const known = this.#kept.get(name);
    // Planted fault: version-not-compared
    if (known && known.version === version) return known;
    let reading = this.#reads.get(name);
    if (!reading) {
      reading = this.#readSecret(name).finally(() => this.#reads.delete(name));
      this.#reads.set(name, reading);
    }
    const found = await reading;
    return found.version === version ? found : undefined;
  }

  async #readSecret(name: string): Promise<Kept> {
    const found = await this.#reader.read(name).catch((error: unknown) => {
      throw asPartnerError(error);
    });
    if (!found) {
      this.#kept.delete(name);
      throw stoppedFault(name, 'it has no credentials');
    }
    const { pair, version } = found;
    const known = this.#kept.get(name);
    // The same object as before, where it is the same token: headers made from it are kept, too.
    const token = known?.version === version ? known.token : pair.accessToken;
    const fresh = { token, version, expiresAt: pair.expiresAt };
    this.#kept.set(name, fresh);
    return fresh;
  }

  async #viewed(name: string, generation: number): Promise<PartnerAccount> {
    const account = await this.#accounts.view(name, generation).catch((error: unknown) => {
      throw asPartnerError(error);
    });
    return this.#allowed(name, generation, account);
  }

  /** @throws {PartnerError} `generation-over`, `account-stopped`, `operator-paused` */
  #allowed(name: string, generation: number, account: PartnerAccount | undefined): PartnerAccount {
    // Planted fault: generation-not-compared
    if (account?.generation !== generation) throw generationOverFault(name, generation);
    const stop = stopOf(account);
    if (stop) throw stoppedFault(name, stop.reason);
    const now = this.#clock.now();
    const pause = operatorPauseOf(account, now);
    // Planted fault: pause-not-asked-for
    if (pause) throw operatorPausedFault(name, pause, now);
    return account;
  }

  #refusePaused(account: PartnerAccount): void {
    const now = this.#clock.now();
    const pause = pauseOf(account, now);
    if (pause) throw pausedFault(account.name, pause.reason, pause.until - now);
  }

  #isGood({ expiresAt }: Kept): boolean {
    return expiresAt > this.#clock.now();
  }

  #isUsable(name: string, found: Kept): boolean {
    return this.#isGood(found) && this.#rejections.get(name)?.version !== found.version;
  }
}
