import { DescribeStackResourcesCommand } from '@aws-sdk/client-cloudformation';
import { UpdateContinuousBackupsCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { PutFunctionConcurrencyCommand } from '@aws-sdk/client-lambda';
import { stackName } from '../../../shared/contract/names.ts';
import type { Cloud } from '../emulator/cloud.ts';
import type { Template } from './cdk.ts';

/**
 * Sets properties of the template that MiniStack's CloudFormation silently ignores: reserved concurrency, time to
 * live and point-in-time recovery. Once set, they work and stay during later deployments.
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
    const name = physical.get(logicalId);
    if (!name) continue;
    const reserved = Properties.ReservedConcurrentExecutions;
    if (Type === 'AWS::Lambda::Function' && typeof reserved === 'number') {
      await cloud.lambda.send(
        new PutFunctionConcurrencyCommand({ FunctionName: name, ReservedConcurrentExecutions: reserved }),
      );
      set.push(`${logicalId}: ${reserved} at once`);
    }
    if (Type !== 'AWS::DynamoDB::Table') continue;
    const expiry = Properties.TimeToLiveSpecification as
      | { AttributeName: string; Enabled: boolean }
      | undefined;
    if (expiry?.Enabled) {
      await cloud.dynamo.send(
        new UpdateTimeToLiveCommand({ TableName: name, TimeToLiveSpecification: expiry }),
      );
      set.push(`${logicalId}: time to live`);
    }
    const recovery = Properties.PointInTimeRecoverySpecification as
      | { PointInTimeRecoveryEnabled: boolean }
      | undefined;
    if (recovery?.PointInTimeRecoveryEnabled) {
      await cloud.dynamo.send(
        new UpdateContinuousBackupsCommand({ TableName: name, PointInTimeRecoverySpecification: recovery }),
      );
      set.push(`${logicalId}: point-in-time recovery`);
    }
  }
  return set;
}
