import { PartnerError } from '../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { StoredPair } from '../../shared/domain/token-pair.ts';
import type { CallOptions, RefreshDeps } from './refresh-request.ts';

/** Reads of Secrets Manager lag behind its writes by a few seconds; what is missing for so long does not exist. */
const lagMs = 12_000;
const lookMs = 500;

interface VersionedPair {
  readonly pair: StoredPair;
  readonly version: string;
}

/**
 * Whether a refresh or `connect` stored this pair for the account and ended before the row named it. Any other pair that
 * the row does not name is of another time or user, because reads lag and a process may be frozen before its write.
 */
function isNext({ generation, token }: PartnerAccount, { pair }: VersionedPair): boolean {
  const isOwn = (token?.issuedFor ?? generation) <= pair.generation && pair.generation <= generation;
  // Rule: only-the-next-pair
  return token !== undefined && isOwn && pair.follows === token.version;
}

/**
 * The pair that the account's row names, or the next one.
 *
 * @returns undefined if there is none
 * @throws {PartnerError} `transient` when the deadline does not leave the time to be sure of that
 */
export async function newestPair(
  { vault, clock }: Pick<RefreshDeps, 'vault' | 'clock'>,
  account: PartnerAccount,
  { deadlineMs }: CallOptions,
): Promise<VersionedPair | undefined> {
  const { name, token } = account;
  const untilMs = clock.now() + lagMs;
  for (;;) {
    const latest = await vault.read(name);
    if (latest && (latest.version === token?.version || isNext(account, latest))) return latest;
    const named = await vault.read(name, token?.version);
    if (named?.version === token?.version) return named;
    if (clock.now() >= untilMs) return undefined;
    if (clock.now() + lookMs >= deadlineMs)
      throw new PartnerError('transient', `the token pair of partner account ${name} cannot be read yet`);
    await clock.sleep(lookMs);
  }
}
