import { backoffMs } from '../../shared/domain/backoff.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import type { StoredPair } from '../../shared/domain/token-pair.ts';
import type { TokenVault } from '../../shared/ports/token-vault.ts';
import type { CallOptions } from './refresh-request.ts';

/** Longer than a store is usually throttled or locked. Limited, so that the sweep has time for other partner accounts. */
const longestMs = 15_000;
const backoff = { baseMs: 500, capMs: 4_000, random: () => 1 };

/**
 * Stores a token pair, and retries a failed write, because the service may not return the pair again: a code works only
 * once, and the document guarantees only that the latest refresh token is returned again on the day of its rotation
 * (partner-api.md §5.3).
 *
 * @returns the version
 */
export async function storePair(
  { vault, clock }: { readonly vault: Pick<TokenVault, 'write'>; readonly clock: Clock },
  partnerAccount: string,
  pair: StoredPair,
  { deadlineMs }: CallOptions,
): Promise<string> {
  const untilMs = Math.min(deadlineMs, clock.now() + longestMs);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await vault.write(partnerAccount, pair);
    } catch (error) {
      const waitMs = backoffMs(attempt, backoff);
      if (clock.now() + waitMs > untilMs) throw error;
      await clock.sleep(waitMs);
    }
  }
}
