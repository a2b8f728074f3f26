import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import type { Queue } from './send-batches.ts';

/**
 * Number of messages in the queue, including in-flight and delayed ones. SQS's figures are approximate.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html
 */
export async function countMessages({ client, url }: Queue): Promise<number> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({
      QueueUrl: url,
      AttributeNames: [
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
        'ApproximateNumberOfMessagesDelayed',
      ],
    }),
  );
  return Object.values(Attributes ?? {}).reduce((sum, figure) => sum + Number(figure), 0);
}
