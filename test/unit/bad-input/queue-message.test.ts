import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deliveryOf } from '../../../shared/aws/sqs.ts';
import type { Delivery } from '../../../shared/ports/queue.ts';
import { changedAdvert } from '../../helpers/records.ts';
import { createWorld } from '../../helpers/world.ts';
import { expectNoTrace, marker, nearlyRightJson } from './nearly-right.ts';

const right = changedAdvert({ correlationId: `read-${marker}` });
const record = (body: string, index = 0) => ({
  messageId: `id-${index}`,
  receiptHandle: `receipt-${index}`,
  body,
  attributes: {
    ApproximateReceiveCount: '1',
    SentTimestamp: '1795176000000',
    SequenceNumber: `1889342123456789012${index}`,
  },
});

describe('a message of the queue, nearly right', () => {
  it('is a message of the contract, or has a flaw that names the place and shows nothing', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(right), async (body) => {
        const { message, flaw } = deliveryOf(record(body));

        expect([message, flaw].filter((part) => part === undefined)).toHaveLength(1);
        if (message) expect(message.advertId).toMatch(/^\d{1,20}$/);
        else expect(flaw).toMatch(/^message: /);
        expectNoTrace(flaw === undefined ? undefined : new Error(flaw));
      }),
      { numRuns: 600 },
    );
  });

  it('names the field that is wrong', async () => {
    const fields = ['key', 'partnerAccount', 'generation', 'advertId', 'listedAt', 'cause'] as const;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...fields), async (field) => {
        const { flaw } = deliveryOf(record(JSON.stringify({ ...right, [field]: { odd: marker } })));

        expect(flaw).toContain(`${field}: expected`);
        expect(flaw).not.toContain(marker);
      }),
      { numRuns: 20 },
    );
  });

  it('is dead-lettered by the fan-out when it has a flaw, and the rest of its batch goes on', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(nearlyRightJson(right), { minLength: 1, maxLength: 8 }), async (bodies) => {
        const world = await createWorld();
        const { generation = 0 } = (await world.account()) ?? {};
        world.service.change('7', 'active');
        const good = changedAdvert({ advertId: '7', generation });
        const texts = [...bodies, JSON.stringify(good)];
        const deliveries = texts.map((body, index): Delivery => deliveryOf(record(body, index)));

        const settlements = await world.fanOut.handle(deliveries, world.options());

        expect(settlements.map(({ delivery }) => delivery.id).toSorted()).toEqual(
          deliveries.map(({ id }) => id).toSorted(),
        );
        for (const { delivery, verdict } of settlements) {
          if (delivery.flaw === undefined) continue;
          expect(verdict).toMatchObject({ kind: 'dead-letter', letter: { fault: 'malformed-message' } });
          expect(JSON.stringify(verdict)).not.toContain(marker);
        }
        expect(settlements.find(({ delivery }) => delivery.id === deliveries.at(-1)?.id)?.verdict).toEqual({
          kind: 'done',
          outcome: 'events',
        });
      }),
      { numRuns: 80 },
    );
  });

  it('leaves in its letter which advert it was about, where that can be told', async () => {
    const world = await createWorld();
    const delivery = deliveryOf(record(JSON.stringify({ ...right, cause: 'of a newer bridge' })));

    const [settlement] = await world.fanOut.handle([delivery], world.options());

    expect(settlement?.verdict).toMatchObject({ letter: { partnerAccount: 'main', advertId: '123' } });
  });
});
