import { DeleteMessageCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';

/** Receives and deletes up to ten messages. */
export async function takeMessages(sqs: SQSClient, QueueUrl: string, waitSeconds: number): Promise<string[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: waitSeconds }),
  );
  for (const { ReceiptHandle } of Messages) {
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  }
  return Messages.map(({ Body = '' }) => Body);
}

/** Reads up to ten messages, which stay in the queue. */
export async function peekMessages(sqs: SQSClient, QueueUrl: string): Promise<string[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 0 }),
  );
  return Messages.map(({ Body = '' }) => Body);
}
