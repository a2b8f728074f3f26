/**
 * What refresh-token writes about a partner account. Each takes the account as it was just read, so that
 * `changeAccount` can apply it again after a conflict.
 */
import type { StopReason } from '../../shared/contract/events.ts';
import { authorizationEvent } from '../../shared/domain/advert-event.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { stopOf } from '../../shared/domain/partner-account.ts';
import type { TokenPair } from '../../shared/domain/token-pair.ts';
import { changeAccount } from '../../shared/ports/partner-accounts.ts';
import type { RefreshDeps } from './refresh-request.ts';

/** Needs manual reauthorization, and owes the event that says so; once for each token version. */
export function stopped(
  account: PartnerAccount,
  reason: StopReason,
  tokenVersion: string,
  nowMs: number,
): PartnerAccount {
  if (stopOf(account)) return account;
  const stop = { reason, tokenVersion, at: toInstant(nowMs) };
  return owing({ ...account, stop }, 'required', { reason, tokenVersion, observedAt: nowMs });
}

/**
 * Goes on; owes the event that says so where one had told of the stop. Not with the version that died: such a write comes
 * again where it was carried out although its answer said otherwise.
 */
export function restored(account: PartnerAccount, tokenVersion: string, nowMs: number): PartnerAccount {
  if (account.stop?.tokenVersion === tokenVersion) return account;
  const { stop, pause: _pause, ...rest } = account;
  if (!isUnanswered(stop)) return rest;
  return owing(rest, 'restored', { reason: 'connected-again', tokenVersion, observedAt: nowMs });
}

/** Has a newer token, which ends a stop; but a stop that a person asked for ends by `connect` alone. */
export function withToken(
  account: PartnerAccount,
  version: string,
  pair: TokenPair,
  nowMs: number,
): PartnerAccount {
  if (account.stop?.reason === 'disconnected') return account;
  const token = { version, expiresAt: pair.expiresAt, usedAt: pair.obtainedAt };
  return { ...restored(account, version, nowMs), token };
}

/** Whether the bus was told of a stop, and not yet that it is over. */
export const isUnanswered = (stop: PartnerAccount['stop']): boolean =>
  stop !== undefined && (stop.reason !== 'disconnected' || stop.unanswered === true);

/** Owes the event of a change, until the bus has accepted it. */
function owing(
  account: PartnerAccount,
  kind: 'required' | 'restored',
  change: { readonly reason: string; readonly tokenVersion: string; readonly observedAt: number },
): PartnerAccount {
  const { name: partnerAccount, generation, owedEvents = [] } = account;
  const envelope = JSON.stringify(authorizationEvent(kind, { partnerAccount, generation, ...change }));
  return { ...account, owedEvents: [...owedEvents, envelope] };
}

/** Publishes the events that the account owes, oldest first. What the bus refuses stays owed until the next sweep. */
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
    await changeAccount(accounts, account.name, (now) => {
      const { owedEvents = [], ...rest } = now;
      const left = owedEvents.filter((owed) => owed !== envelope);
      return left.length > 0 ? { ...rest, owedEvents: left } : rest;
    });
  }
}
