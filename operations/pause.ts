/** Begins and ends an operator's pause, during which no requests are sent to the partner service. */
import { toInstant } from '../shared/domain/clock.ts';
import { type OperatorPause, operatorPauseOf } from '../shared/domain/operator-pause.ts';
import type { PartnerAccount } from '../shared/domain/partner-account.ts';
import type { BudgetStore } from '../shared/state/budget.ts';
import type { PartnerAccounts } from '../shared/state/partner-accounts.ts';
import { type ShownPause, shownPause } from './account-status.ts';
import { accountsBeside, unknownAccount } from './unknown-account.ts';

export interface PausePorts {
  readonly accounts: PartnerAccounts;
  readonly budgetStore: BudgetStore;
}

/**
 * Stores the pause, replacing an existing one. Drain and fan-out see it within 5 seconds, and park the messages that
 * they receive during it.
 *
 * @param name name of a partner account; undefined: pauses the whole bridge
 * @throws {UsageError} for an unknown name
 */
export async function pause(
  { accounts, budgetStore }: PausePorts,
  name: string | undefined,
  operatorPause: OperatorPause,
): Promise<void> {
  if (name === undefined) await budgetStore.setOperatorPause(operatorPause);
  else await changeKnown(accounts, name, (account) => ({ ...account, operatorPause }));
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
}

/**
 * Ends the pause. The next run of the drain puts the messages aside back.
 *
 * @param name name of a partner account; undefined: the whole bridge, which keeps pauses of single accounts
 * @throws {UsageError} for an unknown name
 */
export async function resume(
  { accounts, budgetStore }: PausePorts,
  name: string | undefined,
  { early }: ResumeOptions,
  nowMs: number,
): Promise<Resumed> {
  const budget = await budgetStore.read();
  let ended = operatorPauseOf(budget, nowMs);
  if (name === undefined) await budgetStore.setOperatorPause();
  else {
    await changeKnown(accounts, name, (account) => {
      const { operatorPause: _wanted, pause: own, ...rest } = account;
      ended = operatorPauseOf(account, nowMs);
      return !early && own ? { ...rest, pause: own } : rest;
    });
  }
  if (early) await budgetStore.endPause();
  return {
    ended: shownPause(ended),
    servicePauseUntil: early && budget.pausedUntilMs > nowMs ? toInstant(budget.pausedUntilMs) : null,
    circuitEnded: early && budget.pauseReason === 'circuit',
    stillPaused: name === undefined ? null : shownPause(operatorPauseOf(budget, nowMs)),
  };
}

async function changeKnown(
  accounts: PartnerAccounts,
  name: string,
  change: (account: PartnerAccount) => PartnerAccount,
): Promise<void> {
  if (!(await accounts.change(name, change))) throw unknownAccount(await accountsBeside(accounts, name));
}
