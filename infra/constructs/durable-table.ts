import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, type ITable, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';

export interface DurableTableKeys {
  readonly partitionKey: string;
  readonly sortKey?: string;
}

/**
 * A table that must not be lost: recoverable to any second of the last 35 days, kept when the stack is deleted, and
 * protected against deletion by hand. Encrypted with the key that DynamoDB owns: it holds no secret, and any other key is
 * paid for with each request.
 *
 * @param existing name of a table to take in its place, as it is: one that was restored
 */
export function durableTable(
  scope: Construct,
  id: string,
  { partitionKey, sortKey }: DurableTableKeys,
  existing?: string,
): ITable {
  if (existing !== undefined) return Table.fromTableName(scope, id, existing);
  return new Table(scope, id, {
    partitionKey: { name: partitionKey, type: AttributeType.STRING },
    sortKey: sortKey === undefined ? undefined : { name: sortKey, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    encryption: TableEncryption.DEFAULT,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: true,
    removalPolicy: RemovalPolicy.RETAIN,
  });
}
