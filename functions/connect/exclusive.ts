import { PartnerError } from '../../shared/domain/faults.ts';
import { busy, type LockDeps, withRefreshLock } from '../refresh-token/refresh-lock.ts';

const lookAgainMs = 500;

/**
 * Runs `work` while no other process can change the partner account's tokens. First waits for a running refresh, which
 * could otherwise store its pair, of a grant that is invalid by then, after the new pair.
 *
 * @param work receives the holder name of the lock
 * @param unknown runs instead of `work` if there is no such account
 * @throws {PartnerError} `account-busy` when another process still holds the lock at the deadline
 */
export async function exclusively<T>(
  deps: LockDeps,
  name: string,
  { deadlineMs }: { readonly deadlineMs: number },
  work: (holder: string) => Promise<T>,
  unknown: () => Promise<T>,
): Promise<T> {
  const { accounts, clock } = deps;
  for (;;) {
    if (!(await accounts.read(name))) return unknown();
    const result = await withRefreshLock(deps, name, work);
    if (result !== busy) return result;
    if (clock.now() + lookAgainMs >= deadlineMs) {
      throw new PartnerError(
        'account-busy',
        `somebody else is refreshing the token of ${name} or connecting it: try again in two minutes`,
      );
    }
    await clock.sleep(lookAgainMs);
  }
}
