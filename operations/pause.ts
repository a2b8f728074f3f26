/** An operator wants nothing to be asked of the partner service for a while, and ends that again. */
import { type OperatorPause, operatorPauseOf } from '../shared/domain/operator-pause.ts';
import type { PartnerAccount } from '../shared/domain/partner-account.ts';
import type { BudgetStore } from '../shared/ports/budget-store.ts';
import { changeAccount, type PartnerAccounts } from '../shared/ports/partner-accounts.ts';
import { accountsBeside, unknownAccount } from './unknown-account.ts';

export interface PausePorts {
  readonly accounts: PartnerAccounts;
  readonly budgetStore: BudgetStore;
}

/**
 * Stores the pause, in place of one that is there. Drain and fan-out see it within 5 seconds, and park what they are given
 * meanwhile.
 *
 * @param name of a partner account; undefined: for the whole bridge
 * @throws {UsageError} for a name that is not known
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
  /** Ends also what the service asked for: its pause and an open circuit, and the pause of the account's own tokens. */
  readonly early: boolean;
}

/** What stood and is ended. */
export interface Resumed {
  readonly ended: OperatorPause | undefined;
  /** Until when the service had asked the whole bridge to wait, ms since 1970; undefined: not ended, or there was none. */
  readonly servicePauseUntil: number | undefined;
  readonly circuitEnded: boolean;
  /** The whole bridge is paused still, although the partner account is not. */
  readonly bridgePause: OperatorPause | undefined;
}

/**
 * Ends the pause. The next run of the drain puts back what waited.
 *
 * @param name of a partner account; undefined: of the whole bridge, which leaves the pauses of single accounts
 * @throws {UsageError} for a name that is not known
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
    ended,
    servicePauseUntil: early && budget.pausedUntilMs > nowMs ? budget.pausedUntilMs : undefined,
    circuitEnded: early && budget.pauseReason === 'circuit',
    bridgePause: name === undefined ? undefined : operatorPauseOf(budget, nowMs),
  };
}

async function changeKnown(
  accounts: PartnerAccounts,
  name: string,
  change: (account: PartnerAccount) => PartnerAccount,
): Promise<void> {
  if (!(await changeAccount(accounts, name, change)))
    throw unknownAccount(await accountsBeside(accounts, name));
}
