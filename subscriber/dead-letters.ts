import type { Refusal } from './batch.ts';

interface SendMessageInput {
  QueueUrl: string;
  MessageBody: string;
  MessageAttributes: Record<string, { DataType: 'String'; StringValue: string }>;
}

/** What is needed of SQS: `new SQS()` of `@aws-sdk/client-sqs` has it. */
export interface SqsLike {
  sendMessage(input: SendMessageInput): Promise<unknown>;
}

/**
 * For `onRefused`: sends the body as it came to your dead-letter queue, with the reason in the message attributes
 * `errorCode` and `errorMessage`. Needs `sqs:SendMessage` on the queue.
 */
export const sendToDeadLetters =
  ({ sqs, queueUrl }: { readonly sqs: SqsLike; readonly queueUrl: string }) =>
  async ({ error, body }: Refusal): Promise<void> => {
    const text = (value: string) => ({ DataType: 'String' as const, StringValue: value.slice(0, 1024) });
    await sqs.sendMessage({
      QueueUrl: queueUrl,
      // SQS takes no empty message.
      MessageBody: body || '(empty)',
      MessageAttributes: { errorCode: text(error.code), errorMessage: text(error.message) },
    });
  };
