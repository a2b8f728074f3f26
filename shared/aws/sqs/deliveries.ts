import type { SQSRecord } from 'aws-lambda';
import { messageIn } from '../../contract/messages.ts';
import { positionOf } from '../../domain/queue/position.ts';
import type { Delivery } from '../../ports/deliveries.ts';

/** Only the used fields of a record, so that the result of `ReceiveMessage` has this type too. */
export type ReceivedRecord = Pick<SQSRecord, 'messageId' | 'receiptHandle' | 'body'> & {
  readonly attributes: Partial<SQSRecord['attributes']>;
};

/**
 * Converts a record of the event source mapping to a delivery, which is settled by its message ID.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
 */
export function deliveryOf({ messageId, body, attributes }: ReceivedRecord): Delivery {
  const receives = Number(attributes.ApproximateReceiveCount ?? 1);
  const sentAt = Number(attributes.SentTimestamp ?? 0);
  // Emulators omit the sequence number. The time of sending also orders an advert's messages, except within the same
  // millisecond.
  const position = positionOf(attributes.SequenceNumber ?? String(sentAt), receives);
  return { id: messageId, ...messageIn(body), position, receives, sentAt };
}
