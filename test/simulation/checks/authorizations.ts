/**
 * Checks `credentials-kept`: each stop and each end of a stop is reported once, and the last report matches the
 * account's state.
 */
import { detailTypes } from '../../../shared/contract/names.ts';
import { stopOf } from '../../../shared/domain/partner-account.ts';
import type { SimWorld } from '../world/sim-world.ts';

type Reported = 'required' | 'restored';

export async function checkAuthorizations({ history, state }: SimWorld): Promise<void> {
  const violated = (subject: string, message: string) =>
    history.violated({ invariant: 'credentials-kept', subject, message: `${subject}: ${message}` });
  /** By account and generation, in the order in which the bus first accepted them. */
  const reported = new Map<string, Reported[]>();
  const known = new Set<string>();
  for (const { 'detail-type': type, detail } of history.authorizations) {
    const { eventId, partnerAccount, generation } = detail.metadata;
    if (known.has(eventId)) continue;
    known.add(eventId);
    const key = `${partnerAccount}/${generation}`;
    const before = reported.get(key) ?? [];
    reported.set(key, [...before, type === detailTypes.authorizationRequired ? 'required' : 'restored']);
  }
  for (const [key, kinds] of reported) {
    kinds.forEach((kind, index) => {
      if (kind !== (index % 2 === 0 ? 'required' : 'restored'))
        violated(key, `authorization ${kind} was reported out of turn (${kinds.join(', ')})`);
    });
  }
  for (const account of await state.partnerAccounts.list()) {
    const key = `${account.name}/${account.generation}`;
    const last = reported.get(key)?.at(-1);
    const stop = stopOf(account);
    if (account.owedEvents) violated(key, 'an authorization event is owed to the end');
    else if (stop && stop.reason !== 'disconnected' && last !== 'required')
      violated(key, 'is stopped, and nobody was told of it');
    else if (!stop && last === 'required') violated(key, 'goes on, and nobody was told of it');
  }
}
