import { describe, expect, it } from 'vitest';
import { deliveryOf } from '../../../../shared/aws/sqs.ts';
import { positionOf } from '../../../../shared/domain/queue/message-groups.ts';
import { aMessage } from '../../../helpers/aws/fixtures.ts';

const record = {
  messageId: 'id-1',
  receiptHandle: 'receipt-1',
  body: JSON.stringify(aMessage()),
  attributes: {
    ApproximateReceiveCount: '2',
    SentTimestamp: '1763640000123',
    SequenceNumber: '18893421234567890123',
  },
};

describe('a record of the queue', () => {
  it('becomes a delivery with a position', () => {
    expect(deliveryOf(record)).toEqual({
      id: 'id-1',
      message: aMessage(),
      position: positionOf('18893421234567890123', 2),
      receives: 2,
      sentAt: 1_763_640_000_123,
    });
  });

  it('gets a position that rises with each delivery where the number is missing', () => {
    const without = (ApproximateReceiveCount: string, SentTimestamp = '1763640000123') =>
      deliveryOf({ ...record, attributes: { ApproximateReceiveCount, SentTimestamp } }).position;
    expect(without('1') < without('2')).toBe(true);
    expect(without('2') < without('1', '1763640000124')).toBe(true);
  });

  it.each([
    ['not JSON', 'hidden-one'],
    ['of another shape', JSON.stringify({ ...aMessage(), advertId: 'hidden-one' })],
  ])('has a flaw that repeats none of it when the body is %s', (_, body) => {
    const { message, flaw } = deliveryOf({ ...record, body });
    expect(message).toBeUndefined();
    expect(flaw).toContain('message');
    expect(flaw).not.toContain('hidden-one');
  });
});
