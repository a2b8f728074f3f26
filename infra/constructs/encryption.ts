import type { Grantee } from './grantee.ts';

/**
 * Lets `user` use the key of what the bridge stores, where it has one. The services ask KMS in its name: DynamoDB and SQS to read and
 * write, Secrets Manager with each value.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
 */
export function usesKey(user: Grantee): void {
  const { encryptionKey } = user.settings;
  if (!encryptionKey) return;
  user.may('Key', { actions: ['kms:Decrypt', 'kms:GenerateDataKey'], resources: [encryptionKey.keyArn] });
}
