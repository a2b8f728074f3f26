import { describe, expect, it } from 'vitest';
import type { EventPublisher } from '../../shared/ports/event-publisher.ts';
import type { BusFault } from '../helpers/aws/fake-buses.ts';
import { anEnvelope } from '../helpers/aws/fixtures.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface EventPublisherSubject extends Cleaned {
  readonly publisher: EventPublisher;
  /** IDs of the accepted events, in the order in which a subscriber may receive them. */
  accepted(): readonly string[];
  /** The next calls of the bus have these faults. Absent: the bus has none. */
  readonly fail?: (...faults: readonly BusFault[]) => void;
}

const idOf = (advertId: string, sequence: number) => `main/1763640000/${advertId}/${sequence}`;

/** Conformance tests for every bus, and every kind of bus, that events are published on. */
export function eventPublisherSuite(
  name: string,
  { deduplicates }: { readonly deduplicates: boolean },
  make: () => Promise<EventPublisherSubject>,
): void {
  describe(`${name}: event publisher`, () => {
    const subject = subjects(make);

    it('publishes the events of an advert in order, one after the other', async () => {
      const { publisher, accepted } = await subject();
      for (const sequence of [1, 2, 3]) await publisher.publish(anEnvelope('7', sequence));
      expect(accepted()).toEqual([1, 2, 3].map((sequence) => idOf('7', sequence)));
    });

    it('no event is lost when many are published at once', async () => {
      const { publisher, accepted } = await subject();
      const adverts = Array.from({ length: 120 }, (_, index) => String(index));
      await Promise.all(adverts.map((advert) => publisher.publish(anEnvelope(advert, 1))));
      expect([...accepted()].sort()).toEqual(adverts.map((advert) => idOf(advert, 1)).sort());
    });

    it('succeeds again for an event that the bus has accepted before', async () => {
      const { publisher, accepted } = await subject();
      await publisher.publish(anEnvelope('7', 1));
      await publisher.publish(anEnvelope('7', 1));
      expect(accepted()).toEqual(deduplicates ? [idOf('7', 1)] : [idOf('7', 1), idOf('7', 1)]);
    });

    it('publishes all the same when the bus is throttled for a moment', async ({ skip }) => {
      const { publisher, accepted, fail } = await subject();
      if (!fail) return skip('its bus has no faults');
      fail('throttled');
      await publisher.publish(anEnvelope('7', 1));
      expect(accepted()).toEqual([idOf('7', 1)]);
    });

    it('sends only the refused entry again', async ({ skip }) => {
      const { publisher, accepted, fail } = await subject();
      if (!fail) return skip('its bus has no faults');
      fail('second-entry');
      await Promise.all(['1', '2', '3'].map((advert) => publisher.publish(anEnvelope(advert, 1))));
      expect(accepted()).toEqual([idOf('1', 1), idOf('3', 1), idOf('2', 1)]);
    });

    it('publishes again when the answer is lost after the bus has accepted', async ({ skip }) => {
      const { publisher, accepted, fail } = await subject();
      if (!fail) return skip('its bus has no faults');
      fail('answer-lost');
      await publisher.publish(anEnvelope('7', 1));
      expect(accepted()).toEqual(deduplicates ? [idOf('7', 1)] : [idOf('7', 1), idOf('7', 1)]);
    });

    it('rejects with the name of the fault when it may not publish', async ({ skip }) => {
      const { publisher, accepted, fail } = await subject();
      if (!fail) return skip('its bus has no faults');
      fail('denied');
      const refusal = { name: 'RefusedEventError', code: 'AccessDeniedException' };
      await expect(publisher.publish(anEnvelope('7', 1))).rejects.toMatchObject(refusal);
      await publisher.publish(anEnvelope('7', 2));
      expect(accepted()).toEqual([idOf('7', 2)]);
    });
  });
}
