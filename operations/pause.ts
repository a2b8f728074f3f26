/** Begins and ends an operator's pause, during which no requests are sent to the partner service. */
import { type Clock, toInstant } from '../shared/domain/clock.ts';
import {
  endOfHold,
  type Hold,
  type Holder,
  heldBy,
  holdOf,
  withHold,
  withoutHolds,
} from '../shared/domain/holds.ts';
import type { PartnerAccount } from '../shared/domain/partner-account.ts';
import type { PartnerAccounts } from '../shared/state/partner-accounts.ts';
import { type ShownPause, shownPause } from './account-status.ts';
import type { Bridge } from './bridge.ts';
import { accountsBeside, unknownAccount } from './errors.ts';

type PausedBridge = Pick<Bridge, 'partnerAccounts' | 'budgetStore'> & {
  readonly clock: Pick<Clock, 'now'>;
};

interface PauseOptions {
  /** Default: until `resume`. */
  readonly forMs?: number | undefined;
  readonly reason?: string | undefined;
}

/**
 * Stores the pause, replacing an existing one. Drain and fan-out see it within 5 seconds, and park the messages that
 * they receive during it.
 *
 * @param name name of a partner account; undefined: pauses the whole bridge
 * @throws {UsageError} for an unknown name
 */
export async function pause(
  { partnerAccounts, budgetStore, clock, who }: PausedBridge & Pick<Bridge, 'who'>,
  name: string | undefined,
  { forMs, reason }: PauseOptions,
): Promise<ShownPause> {
  const since = clock.now();
  const hold: Hold = {
    ...{ kind: 'operator', who: await who(), since },
    ...(forMs !== undefined && { forMs, until: since + forMs }),
    ...(reason !== undefined && { reason }),
  };
  if (name === undefined) await budgetStore.change((state) => ({ state: withHold(state, hold) }));
  else await changeKnown(partnerAccounts, name, (account) => withHold(account, hold));
  return shownPause(hold);
}

export interface ResumeOptions {
  /** Also ends the service's pause, an open circuit, and a pause because of the account's own tokens. */
  readonly early: boolean;
}

/** What was in force and has been ended, as printed by `resume --json`. */
export interface Resumed {
  readonly ended: ShownPause | null;
  /** Until when the service had asked the whole bridge to wait; null: not ended, or there was no pause. */
  readonly servicePauseUntil: string | null;
  readonly circuitEnded: boolean;
  /** A pause of the whole bridge that is still in force, although the partner account's has ended. */
  readonly stillPaused: ShownPause | null;
  /** Until when it still waits for another reason, which only `--early` ends; null if it does not. */
  readonly stillHeldUntil: string | null;
}

/**
 * Ends the pause. The next run of the drain puts the messages aside back.
 *
 * @param name name of a partner account; undefined: the whole bridge, which keeps pauses of single accounts
 * @throws {UsageError} for an unknown name
 */
export async function resume(
  { partnerAccounts, budgetStore, clock }: PausedBridge,
  name: string | undefined,
  { early }: ResumeOptions,
): Promise<Resumed> {
  const nowMs = clock.now();
  const budget = await budgetStore.read();
  const everywhere = heldBy(budget, 'operator', nowMs);
  const others = <T extends Holder>(holder: T): T => withoutHolds(holder, (hold) => !isEndedEarly(hold));
  const service = holdOf(others(budget), undefined, nowMs);
  let ended = everywhere;
  let waits = service;
  const resumed = <T extends Holder>(holder: T): T =>
    // Only the user ends a stop.
    withoutHolds(holder, (hold) => isOperators(hold) || (early && isEndedEarly(hold)));
  if (name !== undefined) {
    await changeKnown(partnerAccounts, name, (account) => {
      ended = heldBy(account, 'operator', nowMs);
      waits = holdOf(others(budget), others(account), nowMs);
      return resumed(account);
    });
  }
  await budgetStore.change((state) => ({
    state: name === undefined ? resumed(state) : early ? withoutHolds(state, isServices) : state,
  }));
  return {
    ended: shownPause(ended),
    servicePauseUntil: early && service ? toInstant(endOfHold(service)) : null,
    circuitEnded: early && budget.holds?.some(({ kind }) => kind === 'circuit') === true,
    stillPaused: name === undefined ? null : shownPause(everywhere),
    stillHeldUntil: !early && waits ? toInstant(endOfHold(waits)) : null,
  };
}

const isOperators = ({ kind }: Hold): boolean => kind === 'operator';
const isServices = (hold: Hold): boolean => !isOperators(hold);
const isEndedEarly = ({ kind }: Hold): boolean => kind !== 'operator' && kind !== 'authorization';

async function changeKnown(
  accounts: PartnerAccounts,
  name: string,
  change: (account: PartnerAccount) => PartnerAccount,
): Promise<void> {
  if (!(await accounts.change(name, change))) throw unknownAccount(await accountsBeside(accounts, name));
}
