import { Stack, Validations } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { AccountRootPrincipal, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { BridgeFunction } from './bridge-function.ts';
import type { ChangedAdverts } from './changed-adverts.ts';
import type { Grantee } from './grantee.ts';
import { rateBudget, readsAndRenewsTokens, sendsDeadLetters, usesFeedState } from './grants.ts';
import { tokenReaderPath } from './partner-secrets.ts';

export interface CatchUpProps {
  readonly feedState: ITable;
  readonly advertStatus: ITable;
  readonly changedAdverts: ChangedAdverts;
  readonly drain: BridgeFunction;
  readonly refreshToken: BridgeFunction;
}

/**
 * The role for people who run `backfill`, `resync` and `audit` (cli/targets/stack/catch-up.ts). They ask the partner service
 * themselves, so they read tokens, which the secrets deny to every role outside the path of token readers. It may do what
 * these commands do and nothing else. Who of this AWS account may assume it is for the account's own policies to say.
 */
export class CatchUp extends Construct implements Grantee {
  readonly role: Role;

  constructor(scope: Construct, id: string, props: CatchUpProps) {
    super(scope, id);
    const { feedState, advertStatus, changedAdverts, drain, refreshToken } = props;
    this.role = new Role(this, 'Role', {
      description: 'For people: advert-bridge backfill, resync and audit',
      path: tokenReaderPath,
      assumedBy: new AccountRootPrincipal(),
    });
    this.#readsTheStack();
    this.may('DrainSettings', {
      actions: ['lambda:GetFunctionConfiguration'],
      resources: [drain.function.functionArn],
    });
    usesFeedState(this, feedState, {
      ...rateBudget,
      account: ['GetItem', 'Query'],
      feed: ['Query', 'UpdateItem'],
      // The progress of a backfill is in the item of the books, that of an audit beside it.
      books: ['GetItem', 'UpdateItem'],
      parked: ['GetItem'],
    });
    this.may('AdvertStatus', {
      actions: ['dynamodb:BatchGetItem', 'dynamodb:Scan'],
      resources: [advertStatus.tableArn],
    });
    readsAndRenewsTokens(this, refreshToken);
    this.may('ChangedAdverts', {
      actions: ['sqs:SendMessage', 'sqs:GetQueueAttributes'],
      resources: [changedAdverts.queue.queueArn],
    });
    sendsDeadLetters(this, changedAdverts.deadLetters);
  }

  /** The commands take every name from the stack's outputs. */
  knows(): this {
    return this;
  }

  may(...[sid, statement]: Parameters<Grantee['may']>): this {
    this.role.addToPolicy(new PolicyStatement({ sid, ...statement }));
    return this;
  }

  acknowledges(id: string, reason: string): this {
    Validations.of(this.role).acknowledge({ id, reason });
    return this;
  }

  #readsTheStack(): void {
    const { partition, region, account, stackName } = Stack.of(this);
    this.may('Outputs', {
      actions: ['cloudformation:DescribeStacks'],
      resources: [`arn:${partition}:cloudformation:${region}:${account}:stack/${stackName}/*`],
    }).acknowledges(
      `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/${stackName}/*]`,
      'The commands ask for the stack by its name, and its ARN ends in an ID. A name has no slash: this is no other stack.',
    );
  }
}
