/** Holds of the bridge are in the row of the rate budget, those of a partner account in its row. */
import { metrics } from '../contract/names.ts';
import { afterTrial, Blame, type Evidence, isEndedBy, isEvidence } from '../domain/blame.ts';
import type { Clock } from '../domain/clock.ts';
import type { BridgeFault } from '../domain/faults.ts';
import {
  blamingHold,
  endOfHold,
  type Hold,
  type Holder,
  heldBy,
  heldFault,
  holdMeanings,
  holdOf,
  trialAt,
  untriedHold,
  whileTried,
  withHold,
  withoutHolds,
} from '../domain/holds.ts';
import type { PartnerAccount } from '../domain/partner-account.ts';
import type { Observer } from '../ports/observer.ts';
import type { PartnerAccounts } from '../state/partner-accounts.ts';
import type { CachedAccounts, CachedBudget } from './cached-rows.ts';

export interface HoldKeeperOptions {
  readonly budget: CachedBudget;
  /** Absent: answers hold no account, only the bridge. */
  readonly accounts?: Pick<PartnerAccounts, 'change'> & Partial<Pick<CachedAccounts, 'connected'>>;
  readonly circuitSeconds: number;
  readonly clock: Clock;
  readonly observer?: Observer;
}

type Rule = <T extends Holder>(holder: T) => T;

/** More resources than this are not remembered as failing. */
const maxFailing = 10_000;

/**
 * Refuses requests because of a hold, lets one request try the service when a hold has ended, and turns the service's
 * answers into holds (blame.ts). One per process.
 */
export class HoldKeeper {
  readonly #options: HoldKeeperOptions;
  readonly #clock: Clock;
  readonly #blame: Blame;
  /**
   * What this process tries the service with, by account (without a name: for the bridge), and the end of the hold. A
   * hold that ends at another time is not what it tries.
   */
  readonly #trials = new Map<string | undefined, { readonly resource: string; readonly until?: number }>();
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
   * @param account its row, at most five seconds old; undefined: decides whether the bridge is on hold
   * @param isForTokens whether this is a token request, which is sent even during an operator's hold
   * @returns undefined if the request may be sent; otherwise a promise to wait for
   * @throws {BridgeFault} the fault of the hold
   */
  admit(
    account: PartnerAccount | undefined,
    resource: string,
    isForTokens = false,
  ): Promise<void> | undefined {
    if (account) return this.#admitted(account, account.name, resource);
    // Planted fault: tokens-held-back
    const isOther = ({ kind }: Hold) => isForTokens && holdMeanings[kind].sendsTokens;
    return this.#judged((bridge) => this.#admitted(withoutHolds(bridge, isOther), undefined, resource));
  }

  /** Refuses like `admit` of the bridge, but does not take the trial: for a request that has no token yet. */
  check(resource: string): Promise<void> | undefined {
    return this.#judged((bridge) => this.#admitted(bridge, undefined, resource, false));
  }

  #judged(judge: (bridge: Holder) => Promise<void> | undefined): Promise<void> | undefined {
    const { budget } = this.#options;
    const judged = () => judge(budget.state);
    return budget.state.holds && !budget.isFresh ? budget.refresh().then(judged) : judged();
  }

  #admitted(
    holder: Holder,
    name: string | undefined,
    resource: string,
    takesTrial = true,
  ): Promise<void> | undefined {
    const trial = this.#trials.get(name);
    // The hold that this request was to try has ended or changed: its answer is evidence like any other.
    const isOver = trial?.resource === resource && trial.until !== blamingHold(holder)?.until;
    if (isOver) this.#trials.delete(name);
    if (!holder.holds) return undefined;
    const now = this.#clock.now();
    const hold = holdOf(undefined, holder, now);
    const isTrial = hold?.fault !== undefined && this.#trials.get(name)?.resource === resource;
    // Planted fault: pause-not-asked-for
    if (hold && !isTrial) throw heldFault(hold, name, now);
    const untried = untriedHold(holder, now);
    if (!untried) return undefined;
    const at = trialAt(untried, resource, now);
    if (at > now) throw heldFault({ ...untried, until: at }, name, now);
    return takesTrial ? this.#claimTrial(name, resource) : undefined;
  }

  /** Only one process gets the trial; the others see the hold until it has ended. */
  async #claimTrial(name: string | undefined, resource: string): Promise<void> {
    let tried: Hold | undefined;
    const holder = await this.#change(name, (current) => {
      const now = this.#clock.now();
      const hold = untriedHold(current, now);
      tried = hold && whileTried(hold, now);
      // Rule: one-trial-at-a-time
      return tried ? withHold(current, tried) : current;
    });
    if (tried) this.#trials.set(name, { resource, until: tried.until });
    else if (holder) await this.#admitted(holder, name, resource);
  }

  /**
   * @param isUndecided the fault may be caused only by the cursor, or by a token that is renewed; the next request
   * decides
   * @returns a promise that resolves when other processes can see the result; undefined if they need not, as nearly
   * always
   */
  answered(
    {
      fault,
      ...answer
    }: Omit<Evidence, 'fault' | 'retryAfterMs'> & { readonly fault: BridgeFault | undefined },
    isUndecided: boolean,
  ): Promise<unknown> | undefined {
    const { account, resource } = answer;
    if (fault?.code === 'token-rejected' && isUndecided) return this.#tokenRejected(resource);
    // Planted fault: cursor-403-counted
    if (isUndecided) return undefined;
    const now = this.#clock.now();
    const evidence: Evidence = { ...answer, fault: fault?.code, retryAfterMs: fault?.retryAfterMs };
    const isBad = fault !== undefined && isEvidence(fault.code);
    if (!isBad) this.#failing.delete(resource);
    else if (this.#failing.size < maxFailing) this.#failing.add(resource);
    const decide: Rule = (holder) => {
      const hold = blamingHold(holder);
      if (!isBad) return withoutHolds(holder, (one) => isEndedBy(resource, one));
      if (!hold) return holder;
      const others = withoutHolds(holder, (one) => one === hold);
      const next = afterTrial(hold, evidence, now);
      return next ? withHold(others, next) : others;
    };
    const decided: Promise<unknown>[] = [];
    const { accounts, budget } = this.#options;
    const connected = accounts?.connected;
    if (connected !== undefined && connected !== budget.state.connected)
      decided.push(this.#stored(undefined, (state) => ({ ...state, connected })));
    const tried = [...this.#trials.keys()].filter(
      (owner) => (owner ?? account) === account && this.#trials.get(owner)?.resource === resource,
    );
    for (const owner of tried) {
      this.#trials.delete(owner);
      decided.push(this.#stored(owner, decide));
    }
    // A 429 holds the bridge, even if it answers the trial of an account.
    const isDecided = tried.includes(undefined) || (tried.length > 0 && fault?.code !== 'rate-limited');
    if (isBad && isDecided) return Promise.all(decided);
    // Planted fault: one-403-opens-circuit
    const verdict = this.#blame.answered(evidence, now, budget.state.connected === 1);
    if (verdict) decided.push(this.#holdBack(verdict.account, verdict.hold, fault));
    return decided.length > 0 ? Promise.all(decided) : undefined;
  }

  /**
   * The token is renewed, in another process, whose request for it must not wait for this trial. What the service judges
   * it does not refuse for the reason of the hold.
   */
  #tokenRejected(resource: string): Promise<unknown> | undefined {
    if (this.#trials.get(undefined)?.resource !== resource) return undefined;
    const isOver = ({ fault }: Hold) => fault !== undefined && fault !== 'token-rejected';
    return this.#stored(undefined, (state) => withoutHolds(state, isOver));
  }

  #holdBack(account: string | undefined, hold: Hold, fault: BridgeFault | undefined): Promise<unknown> {
    const { observer } = this.#options;
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
    return this.#stored(account, (holder) => (isLonger(holder) ? withHold(holder, hold) : holder));
  }

  /** @returns the row after the change; undefined if there is none */
  async #change(name: string | undefined, rule: Rule): Promise<Holder | undefined> {
    const { accounts, budget } = this.#options;
    if (name === undefined) return budget.change(rule);
    return accounts?.change(name, (current) => {
      const changed = rule(current);
      return changed === current ? undefined : changed;
    });
  }

  /** Never rejects. */
  async #stored(name: string | undefined, rule: Rule): Promise<void> {
    try {
      await this.#change(name, rule);
    } catch (error) {
      this.#options.observer?.warn('a hold could not be stored: other processes may go on sending', {
        ...(name !== undefined && { partnerAccount: name }),
        error,
      });
    }
  }
}
