/** What `backfill` and `resync` need of a bridge, whichever kind it is. */

import { CommandError } from '../../operations/errors.ts';
import { unknownAccount } from '../../operations/unknown-account.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { stopOf } from '../../shared/domain/partner-account.ts';
import type { CatchUp } from '../shared/catch-up.ts';
import { explained, type Place } from '../shared/explain.ts';
import { commandFor, type Target } from '../shared/target.ts';

/**
 * Opens the bridge meant for catching up, lets `work` use it and closes it. The SDK's modules are loaded only for a stack.
 *
 * @throws {CommandError} with a message that says what to do
 */
export async function withCatchUp<T>(target: Target, work: (catchUp: CatchUp) => Promise<T>): Promise<T> {
  let place: Place = { target };
  try {
    const opened = await open(target);
    place = opened.place;
    try {
      return await work(opened);
    } finally {
      opened.close();
    }
  } catch (error) {
    throw explained(error, place);
  }
}

async function open(target: Target): Promise<CatchUp> {
  if (target.kind === 'local') {
    const { openLocalCatchUp } = await import('./local/catch-up.ts');
    return openLocalCatchUp(target);
  }
  const { openDeployedCatchUp } = await import('./stack/catch-up.ts');
  return openDeployedCatchUp(target);
}

/** @throws {CommandError} for a partner account that is not known, or whose feed and adverts cannot be read now */
export async function connectedAccount(
  { accounts }: Pick<CatchUp, 'accounts'>,
  name: string,
  target: Target,
): Promise<PartnerAccount> {
  const account = (await accounts.read(name))?.value;
  if (!account) throw unknownAccount((await accounts.list()).map((known) => known.name));
  const stop = stopOf(account);
  if (!stop) return account;
  throw new CommandError(
    `partner account ${name} is stopped (${stop.reason}): connect it again first: ` +
      `\`${commandFor(target, `connect ${name} --refresh-token-stdin`)}\``,
  );
}
