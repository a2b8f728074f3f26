import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import type { SQSBatchResponse } from 'aws-lambda';
import type { createBatchSettler } from '../../../shared/aws/settler.ts';
import {
  batchesOf,
  deliveryOf,
  messagesAtOnce,
  type Queue,
  type ReceivedRecord,
} from '../../../shared/aws/sqs.ts';
import type { Delivery, Inbox, Settlement } from '../../../shared/ports/queue.ts';

/** Up to ten messages, as the event source mapping hands them to a function. */
export async function receiveRecords(
  { client, url }: Queue,
  VisibilityTimeout?: number,
): Promise<ReceivedRecord[]> {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({
      ...{ QueueUrl: url, MaxNumberOfMessages: 10, VisibilityTimeout },
      MessageSystemAttributeNames: ['All'],
    }),
  );
  return Messages.map(({ MessageId = '', ReceiptHandle = '', Body = '', Attributes = {} }) => {
    return { messageId: MessageId, receiptHandle: ReceiptHandle, body: Body, attributes: Attributes };
  });
}

/** Deletes what the function does not report, as the event source mapping does. */
export async function deleteHandled(
  { client, url }: Queue,
  records: readonly ReceivedRecord[],
  { batchItemFailures }: SQSBatchResponse,
): Promise<void> {
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  const handled = records.filter(({ messageId }) => !failed.has(messageId));
  for (const ten of batchesOf(handled, messagesAtOnce)) {
    const Entries = ten.map(({ receiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle: receiptHandle }));
    await client.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
  }
}

/** Does for a test what the event source mapping does on AWS. */
export function sqsInbox(queue: Queue, settle: ReturnType<typeof createBatchSettler>): Inbox {
  const records = new Map<string, ReceivedRecord>();
  const keyOf = ({ id, position }: Delivery) => `${id} ${position}`;

  return {
    async receive({ maxGroups, maxPerGroup, visibilityMs }) {
      const taken = new Map<string, ReceivedRecord[]>();
      const surplus: ReceivedRecord[] = [];
      const receive = () => receiveRecords(queue, visibilityMs / 1000);
      for (let batch = await receive(); batch.length > 0; batch = await receive()) {
        for (const record of batch) {
          const group = record.attributes.MessageGroupId ?? '';
          const own = taken.get(group) ?? [];
          const fits = taken.has(group) || taken.size < maxGroups;
          if (fits && own.length < maxPerGroup) taken.set(group, [...own, record]);
          else surplus.push(record);
        }
      }
      for (const ten of batchesOf(surplus, messagesAtOnce)) {
        const Entries = ten.map(({ receiptHandle: ReceiptHandle }, index) => {
          return { Id: String(index), ReceiptHandle, VisibilityTimeout: 0 };
        });
        await queue.client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queue.url, Entries }));
      }
      return [...taken.values()].flat().map((record) => {
        const delivery = deliveryOf(record);
        records.set(keyOf(delivery), record);
        return delivery;
      });
    },

    async settle(settlements: readonly Settlement[]) {
      const batch = settlements.flatMap(({ delivery }) => records.get(keyOf(delivery)) ?? []);
      const result = await settle({ records: batch, settlements, receivedAt: Date.now() });
      await deleteHandled(queue, batch, result);
    },
  };
}
