/** Checks by a partner account's row whether the account may be used now. */
import { operatorPausedFault, operatorPauseOf } from '../../domain/operator-pause.ts';
import { type PartnerAccount, pauseOf, stopOf } from '../../domain/partner-account.ts';
import { generationOverFault, pausedFault, stoppedFault } from './token-faults.ts';

/** @throws {PartnerError} `generation-over`, `account-stopped`, `operator-paused` */
export function usableAccount(
  name: string,
  generation: number,
  account: PartnerAccount | undefined,
  now: number,
): PartnerAccount {
  // Planted fault: generation-not-compared
  if (account?.generation !== generation) throw generationOverFault(name, generation);
  const stop = stopOf(account);
  if (stop) throw stoppedFault(name, stop.reason);
  const pause = operatorPauseOf(account, now);
  // Planted fault: pause-not-asked-for
  if (pause) throw operatorPausedFault(name, pause, now);
  return account;
}

/** The same check before requesting a new token. @throws {PartnerError} `account-paused` */
export function refusePaused(account: PartnerAccount, now: number): void {
  const pause = pauseOf(account, now);
  if (pause) throw pausedFault(account.name, pause.reason, pause.until - now);
}
