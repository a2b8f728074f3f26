/** Begins and ends an operator's pause, during which no requests are sent to the partner service. */
import { type Clock, toInstant } from '../../shared/domain/clock.ts';
import {
  endOfHold,
  type Hold,
  type Holder,
  heldBy,
  holdOf,
  withHold,
  withoutHolds,
} from '../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { renewableNow } from '../../shared/domain/renewal.ts';
import { shownPause } from './account-status.ts';
import type { Bridge, LocalHost, StackHost } from './bridge.ts';
import { knownAccount, requireKnown } from './errors.ts';
import type { PrintedPause, Resumed } from './printed.ts';

interface PausedBridge extends Pick<Bridge, 'partnerAccounts' | 'budgetStore'> {
  readonly clock: Pick<Clock, 'now'>;
  readonly host: Pick<LocalHost, 'kind'> | Pick<StackHost, 'kind' | 'clock'>;
}

/** Of those who keep the pause. */
const nowOf = ({ host, clock }: PausedBridge): number => (host.kind === 'stack' ? host.clock : clock).now();

/** In place of an existing one; seen within 5 seconds. @param name undefined: the whole bridge */
export async function pause(
  bridge: PausedBridge & Pick<Bridge, 'who'>,
  name: string | undefined,
  { forMs, reason }: { readonly forMs?: number | undefined; readonly reason?: string | undefined },
): Promise<PrintedPause> {
  const since = nowOf(bridge);
  const hold: Hold = {
    kind: 'operator',
    who: await bridge.who(),
    since,
    ...(forMs !== undefined && { forMs, until: since + forMs }),
    ...(reason !== undefined && { reason }),
  };
  await requireKnown(bridge.partnerAccounts, name);
  if (name === undefined) await bridge.budgetStore.change((state) => withHold(state, hold));
  else await bridge.partnerAccounts.change(name, (account) => withHold(account, hold));
  return shownPause(hold) as PrintedPause;
}

const isOperators = ({ kind }: Hold): boolean => kind === 'operator';
/** Made by the service's answers. Only the user ends a stop (`authorization`). */
const isPassing = ({ kind }: Hold): boolean => kind !== 'operator' && kind !== 'authorization';
const passingOf = (holder: Holder): Holder => withoutHolds(holder, (hold) => !isPassing(hold));

/**
 * Lets the advert that fails be asked for once more: it is gone, or given up, if the service answers badly again.
 *
 * @returns the number of its messages. @throws {UsageError} for an unknown name
 */
export async function believe(
  { partnerAccounts, aside }: Pick<Bridge, 'partnerAccounts' | 'aside'>,
  name: string,
  advertId: string,
): Promise<number> {
  await requireKnown(partnerAccounts, name);
  const failed = await aside.failed(name, undefined, () => undefined);
  const chosen = failed.filter(({ message }) => message.advertId === advertId);
  await aside.believe(chosen);
  return chosen.length;
}

/**
 * Ends the pause. The next run of the drain puts the messages aside back.
 *
 * @param name name of a partner account; undefined: the whole bridge, which keeps pauses of single accounts
 * @param options.early also ends the service's pause, an open circuit, and a pause because of the account's own tokens
 * @throws {UsageError} for an unknown name
 */
export async function resume(
  bridge: PausedBridge,
  name: string | undefined,
  { early }: { readonly early: boolean },
): Promise<Resumed> {
  const { partnerAccounts, budgetStore } = bridge;
  const nowMs = nowOf(bridge);
  const isEnded = (hold: Hold) => isOperators(hold) || (early && isPassing(hold));
  const whole = await budgetStore.read();
  const account = name === undefined ? undefined : await knownAccount(partnerAccounts, name);
  const ended = (stored: PartnerAccount) => withoutHolds(early ? renewableNow(stored) : stored, isEnded);
  if (account) await partnerAccounts.change(account.name, ended);
  const isEndedOnBridge = (hold: Hold) => isEnded(hold) && !(account && isOperators(hold));
  await budgetStore.change((state) =>
    withoutHolds(early && state.renewal ? renewableNow(state) : state, isEndedOnBridge),
  );
  const service = holdOf(passingOf(whole), undefined, nowMs);
  const waits = holdOf(passingOf(whole), account && passingOf(account), nowMs);
  return {
    ended: shownPause(heldBy(account ?? whole, 'operator', nowMs)),
    servicePauseUntil: early && service ? toInstant(endOfHold(service)) : null,
    accountHoldsEnded: early && account ? (passingOf(account).holds ?? []).map(({ kind }) => kind) : [],
    circuitEnded: early && whole.holds?.some(({ kind }) => kind === 'circuit') === true,
    stillPaused: account ? shownPause(heldBy(whole, 'operator', nowMs)) : null,
    stillHeldUntil: !early && waits ? toInstant(endOfHold(waits)) : null,
  };
}
