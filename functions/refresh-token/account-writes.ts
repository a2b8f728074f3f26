/** Changes to the row of a partner account, applied to the row as just read, and again after a conflict. */
import type { StopReason } from '../../shared/contract/events.ts';
import { type AuthorizationChange, authorizationEvent } from '../../shared/domain/advert-event.ts';
import { type Hold, withHold, withoutHolds } from '../../shared/domain/holds.ts';
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import { isTokenHold, renewableNow } from '../../shared/domain/renewal.ts';
import type { TokenPair } from '../../shared/domain/secret.ts';
import type { RefreshDeps } from './refresh-lock.ts';

/** When the bridge of that name noticed the change. */
type Moment = Pick<AuthorizationChange, 'bridge' | 'observedAt'>;

/** Stops the account until manual reauthorization, and adds the owed event; once for each token version. */
export function stopped(account: PartnerAccount, reason: StopReason, moment: Moment): PartnerAccount {
  if (stopOf(account)) return account;
  const held = withHold(account, stopHold(reason, moment.observedAt));
  return owing({ ...held, unanswered: true }, 'required', { ...moment, reason });
}

export const stopHold = (reason: StopReason, since: number): Hold => ({
  kind: 'authorization',
  since,
  reason,
});

/** Records a newer token: ends a stop and its forgetting, and adds the owed event if an earlier one announced the stop. */
export function withToken(
  account: PartnerAccount,
  version: string,
  pair: TokenPair,
  moment: Moment,
): PartnerAccount {
  const { expiresAt, obtainedAt: usedAt } = pair;
  // The same pair again; or the write of a retry, which had succeeded although its answer was an error.
  if (account.token?.version === version)
    return { ...withoutHolds(account, isTokenHold), token: { ...account.token, expiresAt, usedAt } };
  const isEndedByPair = (hold: Hold) => hold.kind === 'authorization' || isTokenHold(hold);
  const { unanswered, forgetting: _forgetting, ...rest } = withoutHolds(account, isEndedByPair);
  const renewed = { ...rest, token: { version, expiresAt, usedAt } };
  return unanswered ? owing(renewed, 'restored', { ...moment, reason: 'connected-again' }) : renewed;
}

/** Adds the event of a change to the owed events, where it stays until the bus has accepted it. */
function owing(
  account: PartnerAccount,
  kind: 'required' | 'restored',
  change: Pick<AuthorizationChange, 'bridge' | 'observedAt' | 'reason'>,
): PartnerAccount {
  const { name: partnerAccount, generation, owedEvents = [], token, bridge = change.bridge } = account;
  const of = { partnerAccount, generation, tokenVersion: token?.version ?? '', bridge };
  const envelope = JSON.stringify(authorizationEvent(kind, { ...change, ...of }));
  return { ...account, owedEvents: [...owedEvents, envelope] };
}

/** Publishes the account's owed events, oldest first. An event that the bus refuses stays owed until the next sweep. */
export async function publishOwedEvents(
  { partnerAccounts, events, observer }: Pick<RefreshDeps, 'partnerAccounts' | 'events' | 'observer'>,
  { name: partnerAccount, owedEvents = [] }: PartnerAccount,
): Promise<void> {
  for (const envelope of owedEvents) {
    try {
      await events.publish(envelope);
    } catch (error) {
      observer.warn('the bus did not accept an authorization event: the next sweep publishes it', {
        partnerAccount,
        error,
      });
      return;
    }
    await partnerAccounts.change(partnerAccount, ({ owedEvents: all = [], ...rest }) => {
      const left = all.filter((owed) => owed !== envelope);
      return left.length > 0 ? { ...rest, owedEvents: left } : rest;
    });
  }
}

/** A good answer of the token endpoint ends the wait of all accounts for it. */
export async function endpointAnswered({ budgetStore }: Pick<RefreshDeps, 'budgetStore'>): Promise<void> {
  const ended = budgetStore.change((bridge) => (bridge.renewal ? renewableNow(bridge) : bridge));
  // The next one does it.
  await ended.catch(() => undefined);
}
