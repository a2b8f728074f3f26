/** Begins and ends an operator's pause, during which no requests are sent to the partner service. */
import { type Clock, toInstant } from '../shared/domain/clock.ts';
import {
  endOfHold,
  type Hold,
  type Holder,
  heldBy,
  holdOf,
  withHold,
  withoutHolds,
} from '../shared/domain/holds.ts';
import type { PartnerAccount } from '../shared/domain/partner-account.ts';
import { type ShownPause, shownPause } from './account-status.ts';
import type { Bridge } from './bridge.ts';
import { accountsBeside, unknownAccount } from './errors.ts';

type PausedBridge = Pick<Bridge, 'partnerAccounts' | 'budgetStore'> & {
  readonly clock: Pick<Clock, 'now'>;
};

interface PauseOptions {
  readonly forMs?: number | undefined;
  readonly reason?: string | undefined;
}

/** In place of an existing one; seen within 5 seconds. @param name undefined: the whole bridge */
export async function pause(
  bridge: PausedBridge & Pick<Bridge, 'who'>,
  name: string | undefined,
  { forMs, reason }: PauseOptions,
): Promise<ShownPause> {
  const since = bridge.clock.now();
  const hold: Hold = {
    ...{ kind: 'operator', who: await bridge.who(), since },
    ...(forMs !== undefined && { forMs, until: since + forMs }),
    ...(reason !== undefined && { reason }),
  };
  if (name === undefined) await bridge.budgetStore.change((state) => ({ state: withHold(state, hold) }));
  else await changeKnown(bridge, name, (account) => withHold(account, hold));
  return shownPause(hold) as ShownPause;
}

/** What was in force and has been ended, as printed by `resume --json`. */
export interface Resumed {
  readonly ended: ShownPause | null;
  /** Until when the service had asked the whole bridge to wait; null: not ended, or there was no pause. */
  readonly servicePauseUntil: string | null;
  readonly circuitEnded: boolean;
  /** A pause of the whole bridge that is still in force, although the partner account's has ended. */
  readonly stillPaused: ShownPause | null;
  /** Until when it still waits for another reason, which only `--early` ends; null if it does not. */
  readonly stillHeldUntil: string | null;
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
  const nowMs = bridge.clock.now();
  const budget = await bridge.budgetStore.read();
  const everywhere = heldBy(budget, 'operator', nowMs);
  // Only the user ends a stop.
  const isEarly = ({ kind }: Hold) => kind !== 'operator' && kind !== 'authorization';
  const others = <T extends Holder>(holder: T): T => withoutHolds(holder, (hold) => !isEarly(hold));
  const resumed = <T extends Holder>(holder: T): T =>
    withoutHolds(holder, (hold) => isOperators(hold) || (early && isEarly(hold)));
  const service = holdOf(others(budget), undefined, nowMs);
  let ended = everywhere;
  let waits = service;
  if (name !== undefined) {
    await changeKnown(bridge, name, (account) => {
      ended = heldBy(account, 'operator', nowMs);
      waits = holdOf(others(budget), others(account), nowMs);
      return resumed(account);
    });
  }
  const ofService = (state: typeof budget) => withoutHolds(state, (hold) => early && !isOperators(hold));
  await bridge.budgetStore.change((state) => ({
    state: name === undefined ? resumed(state) : ofService(state),
  }));
  return {
    ended: shownPause(ended),
    servicePauseUntil: early && service ? toInstant(endOfHold(service)) : null,
    circuitEnded: early && budget.holds?.some(({ kind }) => kind === 'circuit') === true,
    stillPaused: name === undefined ? null : shownPause(everywhere),
    stillHeldUntil: !early && waits ? toInstant(endOfHold(waits)) : null,
  };
}

const isOperators = ({ kind }: Hold): boolean => kind === 'operator';

async function changeKnown(
  { partnerAccounts }: PausedBridge,
  name: string,
  change: (account: PartnerAccount) => PartnerAccount,
): Promise<void> {
  if (!(await partnerAccounts.change(name, change)))
    throw unknownAccount(await accountsBeside(partnerAccounts, name));
}
