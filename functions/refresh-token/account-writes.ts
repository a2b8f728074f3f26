/**
 * Changes that refresh-token makes to the row of a partner account. Each function takes the row as just read, so that
 * `changeAccount` can apply it again after a conflict.
 */
import type { StopReason } from '../../shared/contract/events.ts';
import { type AuthorizationChange, authorizationEvent } from '../../shared/domain/advert-event.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { type Hold, withoutHolds } from '../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { stopOf } from '../../shared/domain/partner-account.ts';
import type { TokenPair } from '../../shared/domain/token-pair.ts';
import type { RefreshDeps } from './refresh-request.ts';

/** When the bridge of that name noticed the change. */
type Moment = Pick<AuthorizationChange, 'bridge' | 'observedAt'>;

/** Stops the account until manual reauthorization, and adds the owed event; once for each token version. */
export function stopped(
  account: PartnerAccount,
  reason: StopReason,
  tokenVersion: string,
  moment: Moment,
): PartnerAccount {
  if (stopOf(account)) return account;
  const stop = { reason, tokenVersion, at: toInstant(moment.observedAt) };
  return owing({ ...account, stop }, 'required', { ...moment, reason, tokenVersion });
}

/** The hold of an account for which the token endpoint returned no usable token. */
export const isTokenHold = ({ kind, fault }: Hold): boolean => kind === 'token' && fault === undefined;

/**
 * Ends the stop, and adds the owed event if an earlier event announced the stop. Does nothing for the version that was
 * rejected: such a write is a retry of an earlier write that had succeeded although its answer was an error.
 */
export function restored(account: PartnerAccount, tokenVersion: string, moment: Moment): PartnerAccount {
  if (account.stop?.tokenVersion === tokenVersion) return account;
  const { stop, ...rest } = withoutHolds(account, isTokenHold);
  if (!isUnanswered(stop)) return rest;
  return owing(rest, 'restored', { ...moment, reason: 'connected-again', tokenVersion });
}

/** Records a newer token, which ends a stop. A stop that a person asked for ends only with `connect`. */
export function withToken(
  account: PartnerAccount,
  version: string,
  pair: TokenPair,
  moment: Moment,
): PartnerAccount {
  if (account.stop?.reason === 'disconnected') return account;
  const token = { version, expiresAt: pair.expiresAt, usedAt: pair.obtainedAt };
  return { ...restored(account, version, moment), token };
}

/** Whether an event has announced the stop and no event has announced its end yet. */
export const isUnanswered = (stop: PartnerAccount['stop']): boolean =>
  stop !== undefined && (stop.reason !== 'disconnected' || stop.unanswered === true);

/** Adds the event of a change to the owed events, where it stays until the bus has accepted it. */
function owing(
  account: PartnerAccount,
  kind: 'required' | 'restored',
  change: Omit<AuthorizationChange, 'partnerAccount' | 'generation'>,
): PartnerAccount {
  const { name: partnerAccount, generation, owedEvents = [] } = account;
  const envelope = JSON.stringify(authorizationEvent(kind, { partnerAccount, generation, ...change }));
  return { ...account, owedEvents: [...owedEvents, envelope] };
}

/** Publishes the account's owed events, oldest first. An event that the bus refuses stays owed until the next sweep. */
export async function publishOwedEvents(
  { accounts, events, observer }: Pick<RefreshDeps, 'accounts' | 'events' | 'observer'>,
  account: PartnerAccount,
): Promise<void> {
  for (const envelope of account.owedEvents ?? []) {
    try {
      await events.publish(envelope);
    } catch (error) {
      observer.warn('the bus did not accept an authorization event: the next sweep publishes it', {
        partnerAccount: account.name,
        error,
      });
      return;
    }
    await accounts.change(account.name, (now) => {
      const { owedEvents = [], ...rest } = now;
      const left = owedEvents.filter((owed) => owed !== envelope);
      return left.length > 0 ? { ...rest, owedEvents: left } : rest;
    });
  }
}
