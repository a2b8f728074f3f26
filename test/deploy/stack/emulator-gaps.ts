import { DescribeStackResourcesCommand } from '@aws-sdk/client-cloudformation';
import { UpdateContinuousBackupsCommand } from '@aws-sdk/client-dynamodb';
import { stackName } from '../../../shared/contract/names.ts';
import type { Cloud } from '../emulator/cloud.ts';
import type { Template } from './cdk.ts';

/**
 * Sets point-in-time recovery, which MiniStack's CloudFormation silently ignores. Once set, it works and stays during
 * later deployments.
 *
 * @returns what was set, in words
 */
export async function setWhatWasDropped(cloud: Cloud, template: Template): Promise<string[]> {
  const { StackResources = [] } = await cloud.cloudFormation.send(
    new DescribeStackResourcesCommand({ StackName: stackName }),
  );
  const physical = new Map(StackResources.map((each) => [each.LogicalResourceId, each.PhysicalResourceId]));
  const set: string[] = [];
  for (const [logicalId, { Type, Properties = {} }] of Object.entries(template.Resources)) {
    const TableName = physical.get(logicalId);
    const recovery = Properties.PointInTimeRecoverySpecification as
      | { PointInTimeRecoveryEnabled: boolean }
      | undefined;
    if (!TableName || Type !== 'AWS::DynamoDB::Table' || !recovery?.PointInTimeRecoveryEnabled) continue;
    await cloud.dynamo.send(
      new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification: recovery }),
    );
    set.push(`${logicalId}: point-in-time recovery`);
  }
  return set;
}
