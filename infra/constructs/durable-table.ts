import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, type ITable, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import type { BridgeConfig } from './props/bridge-config.ts';

export interface DurableTableKeys {
  readonly partitionKey: string;
  readonly sortKey?: string;
}

/**
 * A table that must not be lost: recoverable to any second of the last 35 days, kept when the stack is deleted, and
 * protected against deletion by hand, unless it was asked to go with the stack. Encrypted with the key that DynamoDB owns, unless
 * another one is asked for: it holds no secret, and any other key is paid for with each request.
 *
 * @param existing name of a table to take in its place, as it is: one that was restored
 */
export function durableTable(
  scope: Construct,
  id: string,
  { partitionKey, sortKey }: DurableTableKeys,
  { encryptionKey, removalPolicy }: BridgeConfig,
  existing?: string,
): ITable {
  if (existing !== undefined) return Table.fromTableName(scope, id, existing);
  return new Table(scope, id, {
    partitionKey: { name: partitionKey, type: AttributeType.STRING },
    sortKey: sortKey === undefined ? undefined : { name: sortKey, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    ...(encryptionKey
      ? { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }
      : { encryption: TableEncryption.DEFAULT }),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: removalPolicy !== RemovalPolicy.DESTROY,
    removalPolicy,
  });
}
