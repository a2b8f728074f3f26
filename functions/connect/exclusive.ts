import { PartnerError } from '../../shared/domain/faults.ts';
import { busy, type LockDeps, withRefreshLock } from '../refresh-token/refresh-lock.ts';

const lookAgainMs = 500;

/**
 * Does `work` as the only one that changes the partner account's tokens, waiting for a refresh that is under way: its
 * pair, of a grant that is dead by now, could be stored after the new one.
 *
 * @param work is given the name under which it holds the lock
 * @param unknown instead of `work` where there is no such account
 * @throws {PartnerError} `account-busy` when somebody else still has the account in hand at the deadline
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
