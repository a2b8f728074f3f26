/** Holds of the bridge are in the row of the rate budget, those of a partner account in its row. */
import { metrics } from '../contract/names.ts';
import { afterTrial, Blame, type Evidence, isBad, mayJudge, type Verdict } from '../domain/blame.ts';
import type { Clock } from '../domain/clock.ts';
import type { BridgeFault } from '../domain/faults.ts';
import {
  endOfHold,
  type Hold,
  type Holder,
  heldBy,
  heldFault,
  holdFor,
  holdMeanings,
  isUntried,
  untriedHold,
  whileTried,
  withHold,
  withoutHolds,
} from '../domain/holds.ts';
import type { Observer } from '../ports/observer.ts';
import type { CachedAccounts, CachedBudget } from './cached-rows.ts';

export interface HoldKeeperOptions {
  readonly budget: CachedBudget;
  /** Absent: answers hold no account, only the bridge. */
  readonly partnerAccounts?: Pick<CachedAccounts, 'change' | 'connected' | 'peek'>;
  readonly circuitSeconds: number;
  readonly clock: Clock;
  readonly observer?: Observer;
}

type Rule = <T extends Holder>(holder: T) => T;

interface Asking {
  readonly resource: string;
  /** Whose holds decide: the account's row, at most five seconds old. Absent: those of the bridge. */
  readonly account?: (Holder & { readonly name: string }) | undefined;
  /** A token request is sent even during an operator's hold of the bridge. Default false. */
  readonly isForTokens?: boolean;
}

interface Answer extends Evidence {
  /** The fault may be caused only by the cursor, or by a token that is renewed: the next request decides. */
  readonly isUndecided: boolean;
}

export type HoldKeeper = ReturnType<typeof createHoldKeeper>;

/**
 * Refuses requests because of a hold, lets one request try the service when a hold has ended, and turns the service's
 * answers into holds (blame.ts). One per process.
 */
export function createHoldKeeper(options: HoldKeeperOptions) {
  const { budget, partnerAccounts, circuitSeconds, clock, observer } = options;
  const blame = new Blame(circuitSeconds * 1000);
  /**
   * What this process tries the service with, by account (without a name: for the bridge): the hold that has ended, and
   * until when the others wait. A hold that ends at another time is not what it tries.
   */
  const trials = new Map<string | undefined, Pick<Hold, 'until'> & { resource: string; ended: Hold }>();

  /** Without the holds that do not keep this request, and after which it cannot try the service. */
  const concerning = ({ resource, account, isForTokens = false }: Asking, holder: Holder, now: number) =>
    withoutHolds(
      holder,
      (hold) =>
        // Planted fault: tokens-held-back
        (isForTokens && holdMeanings[hold.kind].isForPerson) ||
        (isUntried(hold, now) && !mayJudge(resource, account?.name, hold)),
    );

  /**
   * For a request that cannot be sent yet, because it has no token.
   * @returns whether it would be the one that tries the service after a hold
   * @throws {BridgeFault} the fault of the hold
   */
  async function check(asking: Asking): Promise<boolean> {
    const { resource, account } = asking;
    if (!account && budget.state.holds) await budget.refresh();
    const now = clock.now();
    const holder = concerning(asking, account ?? budget.state, now);
    const hold = holdFor(holder, resource, now);
    const trial = trials.get(account?.name);
    const isTrial = hold?.fault !== undefined && trial?.resource === resource && trial.until === hold.until;
    // Planted fault: pause-not-asked-for
    if (hold && !isTrial) throw heldFault(hold, account?.name, now);
    return !hold && untriedHold(holder, now) !== undefined;
  }

  /**
   * For a request that is sent next. The first one after a hold tries the service; for all others, the hold has not ended
   * until that one is answered.
   * @throws {BridgeFault} the fault of the hold
   */
  async function admit(asking: Asking): Promise<void> {
    const { resource, account } = asking;
    if (!(await check(asking))) return;
    let ended: Hold | undefined;
    let tried: Hold | undefined;
    const holder = await change(account?.name, (current) => {
      const now = clock.now();
      ended = untriedHold(concerning(asking, current, now), now);
      tried = ended && whileTried(ended, now);
      // Rule: one-trial-at-a-time
      return tried ? withHold(current, tried) : current;
    });
    if (ended && tried) trials.set(account?.name, { resource, ended, until: tried.until });
    else if (holder) await admit({ ...asking, account: account && { ...holder, name: account.name } });
  }

  /** Resolves when other processes can see the result. */
  async function answered(answer: Answer): Promise<void> {
    const { fault, isUndecided } = answer;
    if (fault?.code === 'token-rejected' && isUndecided) return tokenRejected(answer);
    // Planted fault: cursor-403-counted
    if (isUndecided) return;
    const now = clock.now();
    const connected = partnerAccounts?.connected;
    if (connected !== undefined && connected !== budget.state.connected)
      await stored(undefined, (state) => ({ ...state, connected }));
    const wasTrial = await endTrials(answer, now);
    // A 429 holds the bridge, even if it answers the trial of an account.
    if (wasTrial && isBad(answer) && fault?.code !== 'rate-limited') return;
    // Planted fault: one-403-opens-circuit
    const only = budget.state.connected === 1 && partnerAccounts?.peek(answer.account ?? '')?.account;
    const verdict = blame.answered(answer, now, only || undefined);
    if (verdict && fault) await begin(verdict, fault);
  }

  /** @returns whether the request has tried the service */
  async function endTrials(answer: Answer, now: number): Promise<boolean> {
    let wasTrial = false;
    for (const owner of new Set([undefined, answer.account])) {
      const trial = trials.get(owner);
      if (trial?.resource !== answer.resource) continue;
      trials.delete(owner);
      await stored(owner, (holder) => {
        const tried = holder.holds?.find(({ fault, until }) => fault !== undefined && until === trial.until);
        // The hold has ended or changed meanwhile: this answer is evidence like any other.
        if (!tried) return holder;
        wasTrial = true;
        const next = afterTrial(trial.ended, owner, answer, now);
        const isOver = (hold: Hold) => hold.fault !== undefined && !afterTrial(hold, owner, answer, now);
        // A success ends all holds that it speaks against, not only the one that was tried.
        const others = withoutHolds(holder, (hold) => hold === tried || (!isBad(answer) && isOver(hold)));
        return next ? withHold(others, next) : others;
      });
    }
    return wasTrial;
  }

  /**
   * The token is renewed, in another process, whose request for it must not wait for this trial. What the service judges
   * it does not refuse for the reason of the hold.
   */
  async function tokenRejected({ resource }: Answer): Promise<void> {
    if (trials.get(undefined)?.resource !== resource) return;
    const isOver = ({ fault }: Hold) => fault !== undefined && fault !== 'token-rejected';
    await stored(undefined, (state) => withoutHolds(state, isOver));
  }

  async function begin({ account, hold }: Verdict, fault: BridgeFault): Promise<void> {
    const { askedToWaitMs: askedMs } = fault;
    observer?.warn('requests are on hold because of the answers of the service', {
      ...{ partnerAccount: account, reason: hold.reason, fault: fault.code, answer: fault.message },
      seconds: (hold.forMs ?? 0) / 1000,
      // Longer than maxPauseSeconds: the bridge asks again earlier.
      ...(askedMs !== undefined && { askedSeconds: askedMs / 1000 }),
    });
    const isCircuit = hold.kind === 'circuit';
    if (isCircuit) observer?.count(metrics.circuitOpened, 1);
    if (isCircuit || askedMs !== undefined) observer?.count(metrics.needsAttention, 1);
    const now = clock.now();
    const isStored = await stored(account, (holder) => {
      const before = heldBy(holder, hold.kind, now);
      return before && endOfHold(before) >= endOfHold(hold) ? holder : withHold(holder, hold);
    });
    if (!isStored) blame.forget(account);
  }

  /** @returns the row after the change; undefined if there is none */
  async function change(name: string | undefined, rule: Rule): Promise<Holder | undefined> {
    if (name === undefined) return budget.change(rule);
    return partnerAccounts?.change(name, (current) => {
      const changed = rule(current);
      return changed === current ? undefined : changed;
    });
  }

  /** Never rejects. @returns whether it was stored */
  async function stored(name: string | undefined, rule: Rule): Promise<boolean> {
    try {
      await change(name, rule);
      return true;
    } catch (error) {
      observer?.warn('a hold could not be stored: other processes may go on sending', {
        ...(name !== undefined && { partnerAccount: name }),
        error,
      });
      return false;
    }
  }

  return { check, admit, answered };
}
