import type { RefreshOutcome } from '../../shared/contract/invocations.ts';
import { type Deadline, dayMs } from '../../shared/domain/clock.ts';
import { forEachConcurrent } from '../../shared/domain/concurrency.ts';
import { isDying, type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import { needsAttention } from '../../shared/ports/observer.ts';
import { publishOwedEvents } from './account-writes.ts';
import type { RefreshDeps, TokenRefresh } from './refresh-lock.ts';

/** A refresh token that is unused for a month expires (partner-api.md §5.3 rule 4): used even by a paused account. */
const usedWithinMs = 7 * dayMs;
const atOnce = 5;
/** A refresh begins only if at least this much time is left. */
const minMs = 5_000;

/** The reason to use the refresh token now; undefined if there is none. */
function reasonFor({ token }: PartnerAccount, nowMs: number): 'expired' | 'unused' | undefined {
  if (!token) return undefined;
  if (nowMs - token.usedAt >= usedWithinMs) return 'unused';
  // Planted fault: sweep-leaves-expired
  return token.expiresAt <= nowMs ? 'expired' : undefined;
}

/**
 * Publishes owed events, and refreshes what has expired or was not used for a week, the refresh token that was
 * unused for the longest time first, after all whose last renewal did not fail: a pair that cannot be stored takes the
 * whole time. Work that does not fit into the time is left to the next sweep.
 *
 * @param refresh never rejects
 */
export async function sweep(
  deps: RefreshDeps,
  refresh: (request: TokenRefresh, options: Deadline) => Promise<RefreshOutcome>,
  options: Deadline,
): Promise<void> {
  const { partnerAccounts, observer, clock } = deps;
  let left = 0;
  const listed = await partnerAccounts.list(({ message: reason }) =>
    needsAttention(observer, 'a stored row cannot be read: its token is not refreshed', { reason }),
  );
  const hasFailed = ({ renewal }: PartnerAccount) => Number(renewal?.fault !== undefined);
  const all = listed.toSorted(
    (a, b) => hasFailed(a) - hasFailed(b) || (a.token?.usedAt ?? 0) - (b.token?.usedAt ?? 0),
  );
  await forEachConcurrent(all, atOnce, async (account) => {
    const { name: partnerAccount, token } = account;
    await publishOwedEvents(deps, account);
    const because = stopOf(account) ? undefined : reasonFor(account, clock.now());
    if (!token || !because) return;
    if (clock.now() + minMs > options.deadlineMs) {
      left += 1;
      return;
    }
    const { kind } = await refresh({ partnerAccount, rejectedVersion: token.version, because }, options);
    if (kind !== 'renewed' && isDying(account, clock.now()))
      needsAttention(observer, 'the refresh token expires within a week unless a refresh succeeds', {
        partnerAccount,
      });
  });
  if (left > 0)
    observer.warn('the sweep ran out of time: the other tokens wait for the next one', { count: left });
}
