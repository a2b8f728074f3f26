import { randomUUID } from 'node:crypto';
import type { Refusal } from './arrivals.ts';
import { checkOptions, client, requiredText } from './options.ts';

interface SendMessageInput {
  QueueUrl: string;
  MessageBody: string;
  MessageAttributes: Record<string, { DataType: 'String'; StringValue: string }>;
  /** Of a FIFO queue. */
  MessageGroupId?: string;
  MessageDeduplicationId?: string;
}

/** The part of an SQS client that is used here: `new SQS()` of `@aws-sdk/client-sqs` has it. */
export interface SqsLike {
  sendMessage(input: SendMessageInput): Promise<unknown>;
}

/**
 * For `onRefused`: sends the unchanged body to your dead-letter queue, with the reason in the message attributes
 * `errorCode` and `errorMessage`. The function needs `sqs:SendMessage` on the queue.
 *
 * @throws {TypeError} for wrong options, such as an environment variable that is not set
 */
export function sendToDeadLetters(options: {
  readonly sqs: SqsLike;
  readonly queueUrl: string | undefined;
}): (refusal: Refusal) => Promise<void> {
  checkOptions('sendToDeadLetters', options, {
    sqs: client('sendMessage', 'SQS'),
    queueUrl: requiredText('the URL of your dead-letter queue; is its environment variable set?'),
  });
  const { sqs, queueUrl = '' } = options;
  const attribute = (value: string) => ({ DataType: 'String' as const, StringValue: value.slice(0, 1024) });
  return async ({ error, body, messageId = randomUUID() }) => {
    await sqs.sendMessage({
      QueueUrl: queueUrl,
      // SQS does not accept an empty message.
      MessageBody: body || '(empty)',
      MessageAttributes: { errorCode: attribute(error.code), errorMessage: attribute(error.message) },
      ...(queueUrl.endsWith('.fifo') && { MessageGroupId: 'refused', MessageDeduplicationId: messageId }),
    });
  };
}
