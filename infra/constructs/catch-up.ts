import { Stack } from 'aws-cdk-lib';
import { AccountRootPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { Grantee, type Parts, tokenReaderPathOf } from './grantee.ts';

/** The stack that contains `scope`. The commands ask for it by its name, and its ARN ends in an ID. */
export function stackArnOf(scope: Construct): string {
  const { partition, region, account, stackName } = Stack.of(scope);
  return `arn:${partition}:cloudformation:${region}:${account}:stack/${stackName}/*`;
}

/**
 * The role for people who run `backfill`, `resync` and `audit`, which send requests to the partner service themselves, so
 * they read tokens. The AWS account's own policies decide who may assume it.
 */
export class CatchUp extends Grantee {
  readonly role: Role;

  constructor(
    scope: Construct,
    parts: Parts,
    { drain, refreshToken }: { readonly drain: IFunction; readonly refreshToken: IFunction },
  ) {
    super(scope, 'CatchUp', parts);
    this.role = new Role(this, 'Role', {
      description: 'For people: advert-bridge backfill, resync and audit',
      path: tokenReaderPathOf(parts.settings),
      assumedBy: new AccountRootPrincipal(),
    });
    parts.tokenReaders.push(this.role);
    const stack = stackArnOf(this);
    this.addStatement('Outputs', { actions: ['cloudformation:DescribeStacks'], resources: [stack] })
      .acknowledgeWildcard(
        stack,
        'The commands ask for the stack by its name, and its ARN ends in an ID. A name has no slash: this is no other stack.',
      )
      .addStatement('DrainSettings', {
        actions: ['lambda:GetFunctionConfiguration'],
        resources: [drain.functionArn],
      })
      .grantFeedState({
        account: ['GetItem', 'PutItem', 'Query'],
        feed: ['GetItem', 'PutItem', 'Query'],
        progress: ['GetItem', 'PutItem'],
        found: ['DeleteItem', 'PutItem', 'Query'],
        dead: ['GetItem', 'PutItem'],
      })
      .grantAdvertStatus('GetItem', 'Query')
      .grantTokens(refreshToken)
      .grantChangedAdverts('SendMessage', 'GetQueueAttributes')
      .grantKey();
  }
}
