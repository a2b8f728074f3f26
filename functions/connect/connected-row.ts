/** The row of a partner account while it is being connected: of a generation that waits for its token, then with the token. */
import { type Clock, toInstant } from '../../shared/domain/clock.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { TokenPair } from '../../shared/domain/token-pair.ts';
import { changeAccount, type PartnerAccounts } from '../../shared/ports/partner-accounts.ts';
import { restored } from '../refresh-token/account-writes.ts';

export interface ConnectedRowDeps {
  readonly accounts: PartnerAccounts;
  readonly clock: Clock;
  readonly settings: { readonly lockMs: number };
}

export interface Lock {
  readonly name: string;
  readonly holder: string;
  /** Whether there was an account that could be locked. */
  readonly isKnown: boolean;
}

export function createConnectedRow({ accounts, clock, settings }: ConnectedRowDeps) {
  /**
   * Makes the row one of the new generation that waits for its token. From now on nothing of a user before is used.
   *
   * @throws {PartnerError} `account-busy` when the name is somebody else's
   */
  async function begin({ name, holder, isKnown }: Lock, generation: number): Promise<void> {
    const startedAt = clock.now();
    const at = toInstant(startedAt);
    const waiting: PartnerAccount = {
      name,
      generation,
      connectedAt: at,
      stop: { reason: 'disconnected', tokenVersion: '', at },
      refreshing: { holder, startedAt, until: startedAt + settings.lockMs },
    };
    if (!isKnown && (await accounts.write(waiting, 0))) return;
    // Also where it was ours that was written, by a client that repeats by itself.
    const account = await changeAccount(accounts, name, (now) =>
      now.refreshing?.holder === holder && now.generation !== generation
        ? // What an operator wants of the name holds for whoever has it.
          // Planted fault: pause-lost-by-connect
          { ...waiting, ...(now.operatorPause && { operatorPause: now.operatorPause }) }
        : undefined,
    );
    if (account?.refreshing?.holder !== holder) throw connectedElsewhere(name);
  }

  /**
   * Gives the row its token, from which on it is polled.
   *
   * @throws {PartnerError} when somebody else had the account in hand since: what they found is newer than this
   */
  async function activate(
    { name, holder }: Lock,
    generation: number,
    version: string,
    pair: TokenPair,
  ): Promise<PartnerAccount> {
    const token = { version, expiresAt: pair.expiresAt, usedAt: pair.obtainedAt };
    const isOurs = (now: PartnerAccount) => now.refreshing?.holder === holder;
    const account = await changeAccount(accounts, name, (now) =>
      isOurs(now) ? { ...restored(now, version, clock.now()), generation, token } : undefined,
    );
    if (!account)
      throw new Error(`partner account ${name} was forgotten while it was being connected: connect it again`);
    if (isOurs(account)) return account;
    throw new PartnerError(
      'account-busy',
      `connecting ${name} took so long that somebody else refreshed its token or changed it meanwhile: connect it again`,
    );
  }

  return { begin, activate };
}

export const connectedElsewhere = (name: string) =>
  new PartnerError(
    'account-busy',
    `somebody else connected ${name} at the same time, and nothing of yours was stored: check who, and connect it again if that is not the right user`,
  );
