import type { SQSRecord } from 'aws-lambda';
import { messageIn } from '../../contract/messages.ts';
import { positionOf } from '../../domain/queue/position.ts';
import type { Delivery } from '../../ports/deliveries.ts';

/** The parts of a record that are used, so that what `ReceiveMessage` gives fits too. */
export type ReceivedRecord = Pick<SQSRecord, 'messageId' | 'receiptHandle' | 'body'> & {
  readonly attributes: Partial<SQSRecord['attributes']>;
};

/**
 * A record of the event source mapping as a delivery, settled by its message ID.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
 */
export function deliveryOf({ messageId, body, attributes }: ReceivedRecord): Delivery {
  const receives = Number(attributes.ApproximateReceiveCount ?? 1);
  const sentAt = Number(attributes.SentTimestamp ?? 0);
  // Emulators leave the number out. The time of sending orders an advert's messages too, save within a millisecond.
  const position = positionOf(attributes.SequenceNumber ?? String(sentAt), receives);
  return { id: messageId, ...messageIn(body), position, receives, sentAt };
}
