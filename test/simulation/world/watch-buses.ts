/** The buses on which a run publishes, and check `ordered-bus`: a group of the Custom Event Bus is in order. */
import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { createInMemoryEvents } from '../../fakes/event-publisher.ts';
import type { createModel } from '../model/model.ts';
import type { Trouble } from '../model/plan.ts';

/** By seed, as the setting `eventBuses` names them. */
const kinds = [['classic', 'custom'], ['custom'], ['classic']] as const;

export function createBuses(
  { scheduler, coverage, history }: ReturnType<typeof createModel>,
  { seed, troubles }: { readonly seed: number; readonly troubles: readonly Trouble[] },
  isOn: (trouble: Trouble) => boolean,
) {
  /** The newest event of each generation of an advert that the Custom Event Bus has accepted. */
  const newest = new Map<string, number>();

  /** Of the acceptances of one event, the first counts: what comes again is older than what the subscriber has. */
  function checkOrder(envelope: string): void {
    const { metadata, data } = (JSON.parse(envelope) as AdvertEvent).detail;
    const { partnerAccount: account, generation, sequence } = metadata;
    if (sequence === undefined || history.isForgotten({ account, generation })) return;
    const subject = `${account}/${data.advertId}`;
    const group = `${subject}@${generation}`;
    const before = newest.get(group) ?? 0;
    newest.set(group, Math.max(before, sequence));
    for (let number = before + 1; number < sequence; number += 1) {
      // A setting keeps some events off every bus.
      if (history.events.get(subject)?.get(number)?.isKeptOff) continue;
      const message = `the Custom Event Bus accepted event ${sequence} of advert ${subject} before event ${number}`;
      history.violated({ invariant: 'ordered-bus', subject, message });
    }
  }

  return (kinds[seed % kinds.length] ?? []).map((kind, index, { length }) => {
    const events = createInMemoryEvents(kind === 'custom' ? scheduler.now : undefined);
    events.refuse(() => {
      const isOfBus = ({ kind: what, fromMs }: Trouble) => what === 'bus-down' && fromMs % length === index;
      const isDown = troubles.some((trouble) => isOfBus(trouble) && isOn(trouble));
      if (isDown) coverage.count('trouble: bus-down');
      return isDown;
    });
    async function publish(envelope: string): Promise<void> {
      await events.publish(envelope);
      if (kind === 'custom') checkOrder(envelope);
    }
    return { ...events, kind, publish };
  });
}
