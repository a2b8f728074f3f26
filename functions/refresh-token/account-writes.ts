/** Changes to the row of a partner account, applied to the row as just read, and again after a conflict. */
import type { StopReason } from '../../shared/contract/events.ts';
import { metrics } from '../../shared/contract/names.ts';
import { type AuthorizationChange, authorizationEvent } from '../../shared/domain/advert-event.ts';
import { type Hold, withHold, withoutHolds } from '../../shared/domain/holds.ts';
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import type { TokenPair } from '../../shared/domain/secret.ts';
import type { Fields, Observer } from '../../shared/ports/observer.ts';
import type { RefreshDeps } from './refresh-lock.ts';

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
  const held = withHold(account, stopHold(reason, moment.observedAt));
  return owing({ ...held, unanswered: true }, 'required', { ...moment, reason, tokenVersion });
}

export const stopHold = (reason: StopReason, since: number): Hold => ({
  kind: 'authorization',
  since,
  reason,
});

/** The hold of an account for which the token endpoint returned no usable token. */
export const isTokenHold = ({ kind, fault }: Hold): boolean => kind === 'token' && fault === undefined;

/** Ends the stop and its forgetting, and adds the owed event if an earlier event announced the stop. */
export function restored(account: PartnerAccount, tokenVersion: string, moment: Moment): PartnerAccount {
  const isOver = (hold: Hold) => hold.kind === 'authorization' || isTokenHold(hold);
  const { unanswered, forgetting: _forgetting, ...rest } = withoutHolds(account, isOver);
  return unanswered ? owing(rest, 'restored', { ...moment, reason: 'connected-again', tokenVersion }) : rest;
}

/** Records a newer token, which ends a stop. A stop that a person asked for ends only with `connect`. */
export function withToken(
  account: PartnerAccount,
  version: string,
  pair: TokenPair,
  moment: Moment,
): PartnerAccount {
  // The write of a retry, which had succeeded although its answer was an error, is not repeated.
  if (stopOf(account)?.reason === 'disconnected' || account.token?.version === version) return account;
  const token = { version, expiresAt: pair.expiresAt, usedAt: pair.obtainedAt };
  return { ...restored(account, version, moment), token };
}

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

/** Logs an error, and counts it for the alarm. */
export function needsAttention(observer: Observer, message: string, fields: Fields): void {
  observer.count(metrics.needsAttention, 1);
  observer.error(message, fields);
}
