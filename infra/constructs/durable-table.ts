import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, type ITable, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { storeKeys } from '../../shared/contract/tables.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

/**
 * A table that must not be lost. It can be restored to any second of the last 35 days, is kept when the stack is
 * deleted, and has deletion protection, unless the removal policy says otherwise. It is encrypted with a key owned by
 * DynamoDB, unless another key is given: it contains no secrets, and any other key costs money with each request.
 *
 * @param existing name of a restored table to use, unchanged, instead of a new one
 */
export function durableTable(
  scope: Construct,
  id: string,
  { encryptionKey, removalPolicy }: BridgeConfig,
  existing?: string,
): ITable {
  if (existing !== undefined) return Table.fromTableName(scope, id, existing);
  return new Table(scope, id, {
    partitionKey: { name: storeKeys.partitionKey, type: AttributeType.STRING },
    sortKey: { name: storeKeys.sortKey, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    ...(encryptionKey
      ? { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }
      : { encryption: TableEncryption.DEFAULT }),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: removalPolicy !== RemovalPolicy.DESTROY,
    removalPolicy,
  });
}
