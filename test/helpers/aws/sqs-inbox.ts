import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import type { createBatchSettler } from '../../../shared/aws/settler.ts';
import {
  batchesOf,
  deliveryOf,
  messagesAtOnce,
  type Queue,
  type ReceivedRecord,
} from '../../../shared/aws/sqs.ts';
import type { Delivery, Inbox, Settlement, Settler } from '../../../shared/ports/queue.ts';

/** Does for a test what the event source mapping does on AWS: asks the queue, and deletes what is not reported. */
export function sqsInbox(queue: Queue, settle: ReturnType<typeof createBatchSettler>): Inbox & Settler {
  const records = new Map<string, ReceivedRecord>();
  const keyOf = ({ id, position }: Delivery) => `${id} ${position}`;

  async function receiveOnce(visibilityMs: number): Promise<Message[]> {
    const { Messages = [] } = await queue.client.send(
      new ReceiveMessageCommand({
        QueueUrl: queue.url,
        MaxNumberOfMessages: 10,
        VisibilityTimeout: visibilityMs / 1000,
        MessageSystemAttributeNames: ['All'],
      }),
    );
    return Messages;
  }

  return {
    async receive({ maxGroups, maxPerGroup, visibilityMs }) {
      const taken = new Map<string, Message[]>();
      const surplus: Message[] = [];
      for (
        let batch = await receiveOnce(visibilityMs);
        batch.length > 0;
        batch = await receiveOnce(visibilityMs)
      ) {
        for (const message of batch) {
          const group = message.Attributes?.MessageGroupId ?? '';
          const own = taken.get(group) ?? [];
          const fits = taken.has(group) || taken.size < maxGroups;
          if (fits && own.length < maxPerGroup) taken.set(group, [...own, message]);
          else surplus.push(message);
        }
      }
      for (const ten of batchesOf(surplus, messagesAtOnce)) {
        await queue.client.send(
          new ChangeMessageVisibilityBatchCommand({
            QueueUrl: queue.url,
            Entries: ten.map(({ ReceiptHandle }, index) => ({
              Id: String(index),
              ReceiptHandle,
              VisibilityTimeout: 0,
            })),
          }),
        );
      }
      return [...taken.values()].flat().map((message) => {
        const record = recordOf(message);
        const delivery = deliveryOf(record);
        records.set(keyOf(delivery), record);
        return delivery;
      });
    },

    async settle(settlements: readonly Settlement[]) {
      const batch = settlements.flatMap(({ delivery }) => records.get(keyOf(delivery)) ?? []);
      const { batchItemFailures } = await settle({
        records: batch,
        settlements,
        receivedAt: Date.now(),
      });
      const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      const settled = batch.filter(({ messageId }) => !failed.has(messageId));
      for (const ten of batchesOf(settled, messagesAtOnce)) {
        await queue.client.send(
          new DeleteMessageBatchCommand({
            QueueUrl: queue.url,
            Entries: ten.map(({ receiptHandle }, index) => ({
              Id: String(index),
              ReceiptHandle: receiptHandle,
            })),
          }),
        );
      }
    },
  };
}

const recordOf = ({ MessageId, ReceiptHandle, Body, Attributes }: Message): ReceivedRecord => ({
  messageId: MessageId ?? '',
  receiptHandle: ReceiptHandle ?? '',
  body: Body ?? '',
  attributes: Attributes ?? {},
});
