import type { PartnerAccount, PartnerAccounts } from '../ports/partner-accounts.ts';

/** Changes to an account that may be tried before it counts as contended beyond reason. */
const mostConflicts = 50;

/**
 * Reads the account, applies `change` to it and writes it, again from the read when somebody else wrote in between: so
 * no stale copy erases a stop or a pause.
 *
 * @param change gives the account as it is to be, or `undefined` to leave it
 * @returns the account as it is now; undefined when there is none
 */
export async function changeAccount(
  accounts: PartnerAccounts,
  name: string,
  change: (account: PartnerAccount) => PartnerAccount | undefined,
): Promise<PartnerAccount | undefined> {
  for (let conflict = 0; conflict < mostConflicts; conflict += 1) {
    const read = await accounts.read(name);
    if (!read) return undefined;
    const changed = change(read.value);
    if (!changed) return read.value;
    if (await accounts.write(changed, read.version)) return changed;
  }
  throw new Error(`partner account ${name}: too many conflicting writes`);
}

const dayMs = 86_400_000;
/** A refresh token dies when it was not used for so long (partner-api.md §8). */
export const refreshTokenLifetimeMs = 30 * dayMs;
/** Unused for so long it is a person's business: a week before it dies. */
export const refreshTokenAlarmMs = refreshTokenLifetimeMs - 7 * dayMs;

/** The stop that holds: one for a token version that has been replaced does not. */
export function stopOf({ stop, token }: PartnerAccount): PartnerAccount['stop'] {
  return stop && (!token || token.version === stop.tokenVersion) ? stop : undefined;
}

/** The pause that holds at `nowMs`. */
export function pauseOf({ pause }: PartnerAccount, nowMs: number): PartnerAccount['pause'] {
  return pause && pause.until > nowMs ? pause : undefined;
}
