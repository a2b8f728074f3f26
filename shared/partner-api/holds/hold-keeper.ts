/**
 * Turns the service's answers into holds (blame.ts), and lets one request try the service when a hold has ended. Holds of
 * the bridge are in the rate budget, whose rate limiter keeps them; holds of a partner account are in the account's row.
 */
import { metrics } from '../../contract/names.ts';
import { afterTrial, Blame, type Evidence, isEvidence } from '../../domain/blame.ts';
import type { Clock } from '../../domain/clock.ts';
import type { PartnerError } from '../../domain/faults.ts';
import {
  endOfHold,
  type Hold,
  type Holder,
  heldBy,
  heldFault,
  holdOf,
  trialAt,
  untriedHold,
  whileTried,
  withHold,
  withoutHolds,
} from '../../domain/holds.ts';
import type { PartnerAccount } from '../../domain/partner-account.ts';
import { blamingHold } from '../../domain/rate-budget.ts';
import type { Observer } from '../../ports/observer.ts';
import type { PartnerAccounts } from '../../state/partner-accounts.ts';
import type { RateLimiter } from '../rate-limit/rate-limiter.ts';

interface KnownAccounts {
  /** Number of accounts that are not stopped; undefined until this process has listed them. */
  readonly connected?: number | undefined;
}

export interface HoldKeeperOptions {
  readonly rateLimiter: RateLimiter;
  /** Absent: answers hold no account, only the bridge. */
  readonly accounts?: (Pick<PartnerAccounts, 'change'> & KnownAccounts) | undefined;
  readonly circuitSeconds: number;
  readonly clock: Clock;
  readonly observer?: Observer | undefined;
}

/** Evidence, with what the service's fault says besides. */
export interface Answered extends Omit<Evidence, 'fault' | 'retryAfterMs'> {
  /** Undefined after a success. */
  readonly fault: PartnerError | undefined;
}

/** More resources than this are not remembered as failing. */
const maxFailing = 10_000;

/** Creates the keeper; one per process. */
export const createHoldKeeper = (options: HoldKeeperOptions): HoldKeeper => new HoldKeeper(options);

export class HoldKeeper {
  readonly #options: HoldKeeperOptions;
  readonly #clock: Clock;
  readonly #blame: Blame;
  /** The resources that this process uses to try the service, by account. */
  readonly #trials = new Map<string, string>();
  /** Resources whose last answer was a fault. */
  readonly #failing = new Set<string>();

  constructor(options: HoldKeeperOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#blame = new Blame(options.circuitSeconds * 1000);
  }

  isFailing(resource: string): boolean {
    return this.#failing.has(resource);
  }

  /**
   * Lets a request for the account pass, or has it try the service after a hold.
   *
   * @param account its row, at most five seconds old
   * @returns undefined if the request may be sent; otherwise a promise to wait for
   * @throws {PartnerError} `account-paused`, `operator-paused`
   */
  admit(account: PartnerAccount, resource: string): Promise<void> | undefined {
    if (!account.holds) return undefined;
    const now = this.#clock.now();
    const { name } = account;
    const hold = holdOf(undefined, account, now);
    const isTrial = hold?.fault !== undefined && this.#trials.get(name) === resource;
    // Planted fault: pause-not-asked-for
    if (hold && !isTrial) throw heldFault(hold, name, now);
    const untried = untriedHold(account, now);
    if (!untried) return undefined;
    const at = trialAt(untried, resource, now);
    if (at > now) throw heldFault({ ...untried, until: at }, name, now);
    return this.#claimTrial(name, resource);
  }

  /** Only one process gets the trial; the others see the hold until it has ended. */
  async #claimTrial(name: string, resource: string): Promise<void> {
    let isMine = false;
    const account = await this.#options.accounts?.change(name, (current) => {
      const now = this.#clock.now();
      const hold = untriedHold(current, now);
      isMine = hold !== undefined;
      return hold && withHold(current, whileTried(hold, now));
    });
    if (isMine) this.#trials.set(name, resource);
    else if (account) await this.admit(account, resource);
  }

  /**
   * Evaluates an answer of the service.
   *
   * @param isUndecided the fault may be caused only by the request's cursor, or by a token that is renewed; the next
   * request for the resource decides
   * @returns undefined if other processes need not know the result, which is nearly always so; otherwise a promise that
   * resolves when they can see it
   */
  answered({ fault, ...answer }: Answered, isUndecided: boolean): Promise<unknown> | undefined {
    const { account, resource } = answer;
    if (fault?.code === 'token-rejected' && isUndecided) return this.#tokenRejected(resource);
    // Planted fault: cursor-403-counted
    if (isUndecided) return undefined;
    const now = this.#clock.now();
    const evidence: Evidence = { ...answer, fault: fault?.code, retryAfterMs: fault?.retryAfterMs };
    const isBad = fault !== undefined && isEvidence(fault.code);
    if (!isBad) this.#failing.delete(resource);
    else if (this.#failing.size < maxFailing) this.#failing.add(resource);
    const decide = <T extends Holder>(holder: T): T => {
      const hold = blamingHold(holder);
      if (!isBad) return withoutHolds(holder, (one) => one.fault !== undefined);
      if (!hold) return holder;
      const others = withoutHolds(holder, (one) => one === hold);
      const next = afterTrial(hold, evidence, now);
      return next ? withHold(others, next) : others;
    };
    const decided: Promise<unknown>[] = [];
    const { accounts, rateLimiter } = this.#options;
    const connected = accounts?.connected;
    if (connected !== undefined && connected !== rateLimiter.connected)
      decided.push(rateLimiter.change((state) => ({ ...state, connected })));
    const isOfBridge = rateLimiter.trial === resource;
    if (isOfBridge) {
      rateLimiter.trialEnded();
      decided.push(rateLimiter.change(decide));
    }
    const isOfAccount = account !== undefined && this.#trials.get(account) === resource;
    if (isOfAccount) {
      this.#trials.delete(account);
      decided.push(this.#changeAccount(account, decide));
    }
    // A 429 holds the bridge, even if it answers the trial of an account.
    if (isBad && (isOfBridge || (isOfAccount && fault.code !== 'rate-limited'))) return Promise.all(decided);
    // Planted fault: one-403-opens-circuit
    const verdict = this.#blame.answered(evidence, now, rateLimiter.connected === 1);
    if (verdict) decided.push(this.#holdBack(verdict.account, verdict.hold, fault));
    return decided.length > 0 ? Promise.all(decided) : undefined;
  }

  /**
   * The token is renewed, in another process, whose request for it must not wait for this trial. What the service judges
   * it does not refuse for the reason of the hold.
   */
  #tokenRejected(resource: string): Promise<unknown> | undefined {
    const { rateLimiter } = this.#options;
    if (rateLimiter.trial !== resource) return undefined;
    const isOver = ({ fault }: Hold) => fault !== undefined && fault !== 'token-rejected';
    return rateLimiter.change((state) => withoutHolds(state, isOver));
  }

  #holdBack(account: string | undefined, hold: Hold, fault: PartnerError | undefined): Promise<unknown> {
    const { observer, rateLimiter } = this.#options;
    const askedMs = fault?.askedToWaitMs;
    observer?.warn('requests are on hold because of the answers of the service', {
      ...{ partnerAccount: account, reason: hold.reason, fault: fault?.code, answer: fault?.message },
      seconds: (hold.forMs ?? 0) / 1000,
      // Longer than maxPauseSeconds: the bridge asks again earlier.
      ...(askedMs !== undefined && { askedSeconds: askedMs / 1000 }),
    });
    const isCircuit = hold.kind === 'circuit';
    if (isCircuit) observer?.count(metrics.circuitOpened, 1);
    if (isCircuit || askedMs !== undefined) observer?.count(metrics.needsAttention, 1);
    const now = this.#clock.now();
    const isLonger = (holder: Holder) => {
      const before = heldBy(holder, hold.kind, now);
      return !before || endOfHold(before) < endOfHold(hold);
    };
    const held = <T extends Holder>(holder: T): T => (isLonger(holder) ? withHold(holder, hold) : holder);
    return account === undefined ? rateLimiter.change(held) : this.#changeAccount(account, held);
  }

  async #changeAccount(name: string, change: (account: PartnerAccount) => PartnerAccount): Promise<void> {
    const { accounts, observer } = this.#options;
    try {
      await accounts?.change(name, (current) => {
        const changed = change(current);
        return changed === current ? undefined : changed;
      });
    } catch (error) {
      observer?.warn('a hold of a partner account could not be stored: requests go on', {
        partnerAccount: name,
        error,
      });
    }
  }
}
