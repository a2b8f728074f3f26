/** Holds of the bridge are in the row of the rate budget, those of a partner account in its row. */
import { metrics } from '../contract/names.ts';
import { accountAfter, bridgeAfter, type Evidence } from '../domain/blame.ts';
import type { Clock } from '../domain/clock.ts';
import { type Asking, type Holder, heldFault, holdFor, newHold, withTrial } from '../domain/holds.ts';
import type { PartnerAccount } from '../domain/partner-account.ts';
import type { Observer } from '../ports/observer.ts';
import type { CachedAccounts, CachedBudget } from './cached-rows.ts';

export interface HoldKeeperOptions {
  readonly budget: CachedBudget;
  /** Absent: answers hold no account, only the bridge. */
  readonly partnerAccounts?: Pick<CachedAccounts, 'change' | 'connected' | 'known'>;
  readonly circuitSeconds: number;
  readonly clock: Clock;
  readonly observer: Observer;
}

interface Admission extends Asking {
  /** Whose holds decide: the account's row, at most five seconds old. Absent: those of the bridge. */
  readonly account?: PartnerAccount | undefined;
  /** The request is sent next: after a hold, it tries the service, and all others wait for its answer. */
  readonly isNext: boolean;
}

type Rule = <T extends Holder>(row: T) => T;

export type HoldKeeper = ReturnType<typeof createHoldKeeper>;

/** Refuses requests because of a hold, and stores what the service's answers mean (blame.ts). One per process. */
export function createHoldKeeper(options: HoldKeeperOptions) {
  const { budget, partnerAccounts, circuitSeconds, clock, observer } = options;

  /** @throws {BridgeFault} the fault of the hold because of which the request must not be sent */
  async function ready(asking: Admission): Promise<void> {
    const { account, isNext } = asking;
    if (!account && budget.state.holds) await budget.refresh();
    const entered: Rule = (row) => {
      const now = clock.now();
      const hold = holdFor(row, asking, now);
      // Planted fault: pause-not-asked-for
      if (hold) throw heldFault(hold, account?.name, now);
      return isNext ? withTrial(row, asking, now) : row;
    };
    const held: Holder = account ?? budget.state;
    if (entered(held) !== held) await change(account?.name, entered);
  }

  /** Resolves when other processes can see the result. Never rejects. */
  async function answered(answer: Evidence): Promise<void> {
    const now = clock.now();
    const connected = partnerAccounts?.connected;
    await stored(undefined, budget.state, answer, (row) => {
      const isNew = connected !== undefined && connected !== row.connected;
      return bridgeAfter(isNew ? { ...row, connected } : row, answer, circuitSeconds * 1_000, now);
    });
    const account = partnerAccounts?.known(answer.account ?? '');
    if (account) await stored(account.name, account, answer, (row) => accountAfter(row, answer, now));
  }

  /** @param known the row as this process knows it: most answers change nothing in it, and then nothing is stored */
  async function stored(name: string | undefined, known: Holder, answer: Evidence, rule: Rule) {
    // Planted fault: evidence-in-memory
    if (rule(known) === known) return;
    try {
      // Another process may have changed the row since: only what this answer has made is logged.
      let before = known;
      const after = await change(name, (row) => {
        before = row;
        return rule(row);
      });
      if (after) tell(name, before, after, answer);
    } catch (error) {
      const message = 'a hold could not be stored: other processes may go on sending';
      observer.warn(message, { partnerAccount: name, error });
    }
  }

  /** @returns the row after the change; undefined if there is none */
  const change = async (name: string | undefined, rule: Rule): Promise<Holder | undefined> =>
    name === undefined ? budget.change(rule) : partnerAccounts?.change(name, rule);

  /** Logs a hold that is new or longer. */
  function tell(name: string | undefined, before: Holder, after: Holder, { fault }: Evidence): void {
    const hold = newHold(before, after);
    if (!hold) return;
    const askedMs = fault?.askedToWaitMs;
    observer.warn('requests are on hold because of the answers of the service', {
      partnerAccount: name,
      reason: hold.reason,
      fault: hold.fault,
      answer: fault?.message,
      seconds: (hold.forMs ?? 0) / 1000,
      // The service asked for more than maxPauseSeconds: the bridge asks again earlier.
      ...(askedMs !== undefined && { askedSeconds: askedMs / 1000 }),
    });
    const isCircuit = hold.kind === 'circuit';
    if (isCircuit) observer.count(metrics.circuitOpened, 1);
    if (isCircuit || askedMs !== undefined) observer.count(metrics.needsAttention, 1);
  }

  return { ready, answered };
}
