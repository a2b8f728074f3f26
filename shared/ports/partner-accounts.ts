import type { OnUnreadable } from '../contract/checks.ts';
import type { PartnerAccount } from '../domain/partner-account.ts';

export interface Versioned<T> {
  readonly value: T;
  /** Increased by every write. */
  readonly version: number;
}

export interface PartnerAccounts {
  /** @throws {ShapeError} for a row that cannot be read, unless `onUnreadable` is given */
  list(onUnreadable?: OnUnreadable): Promise<PartnerAccount[]>;
  /** Strongly consistent. */
  read(name: string): Promise<Versioned<PartnerAccount> | undefined>;
  /**
   * @param expected the version read; 0 for an account that is not there yet
   * @returns whether it was written; false when another process wrote first
   */
  write(account: PartnerAccount, expected: number): Promise<boolean>;
  /** Removes the account; no error if it does not exist. */
  remove(name: string): Promise<void>;
}

/** Maximum number of conflicting writes before `changeAccount` gives up. */
const maxConflicts = 50;

/**
 * Reads the account, applies `change` and writes it. If another process wrote in between, it starts again from the read,
 * so that a stale copy never erases a stop or a pause.
 *
 * @param change returns the new account, or `undefined` for no change
 * @returns the account after the change; undefined if there is none
 */
export async function changeAccount(
  accounts: PartnerAccounts,
  name: string,
  change: (account: PartnerAccount) => PartnerAccount | undefined,
): Promise<PartnerAccount | undefined> {
  for (let conflict = 0; conflict < maxConflicts; conflict += 1) {
    const read = await accounts.read(name);
    if (!read) return undefined;
    const changed = change(read.value);
    if (!changed) return read.value;
    if (await accounts.write(changed, read.version)) return changed;
  }
  throw new Error(`partner account ${name}: too many conflicting writes`);
}
