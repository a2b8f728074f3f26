import type { Bridge } from '../../operations/bridge.ts';
import { accountsBeside, CommandError, unknownAccount } from '../../operations/errors.ts';
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import { commandFor, type Target } from '../shared/target.ts';
import { are, timeFor } from '../shared/wording.ts';

/** What waits in the queue and how long that takes, then the next command: `run`, or where it is at work, `status`. */
export async function waitingLine(bridge: Bridge, target: Target, name: string): Promise<string> {
  const { maxRequestsPerSecond } = await bridge.settings();
  const waiting = await bridge.queue.depth(name);
  const next = commandFor(target, bridge.isDelivering() ? `status ${name}` : 'run');
  return `${are(waiting, 'message waits', 'messages wait')}${timeFor(waiting, maxRequestsPerSecond)}. Next: \`${next}\``;
}

/**
 * @throws {UsageError} for a partner account that is not known
 * @throws {CommandError} for an account whose feed and adverts cannot be read now
 */
export async function connectedAccount(
  { partnerAccounts: accounts }: Pick<Bridge, 'partnerAccounts'>,
  name: string,
  target: Target,
): Promise<PartnerAccount> {
  const account = await accounts.read(name);
  if (!account) throw unknownAccount(await accountsBeside(accounts, name));
  const stop = stopOf(account);
  if (!stop) return account;
  throw new CommandError(
    `partner account ${name} is stopped (${stop.reason}). Connect it again first: ` +
      `\`${commandFor(target, `connect ${name} --refresh-token-stdin`)}\``,
  );
}
