import { Stack } from 'aws-cdk-lib';
import { AccountRootPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { BridgeFunction } from './bridge-function.ts';
import { Grantee } from './grantee.ts';
import {
  grantAdvertStatus,
  grantChangedAdverts,
  grantDeadLetters,
  grantFeedState,
  grantTokens,
  rateBudget,
} from './grants.ts';
import type { Parts } from './parts.ts';
import type { BridgeConfig } from './props/bridge-config.ts';
import { tokenReaderPathOf } from './secrets.ts';

/** The stack that contains `scope`. The commands ask for it by its name, and its ARN ends in an ID. */
export function stackArnOf(scope: Construct): string {
  const { partition, region, account, stackName } = Stack.of(scope);
  return `arn:${partition}:cloudformation:${region}:${account}:stack/${stackName}/*`;
}

/**
 * The role for people who run `backfill`, `resync` and `audit` (cli/bridge/open-stack.ts). These commands send
 * requests to the partner service themselves, so they read tokens, and the secrets deny that to every role outside the
 * path of token readers. The role has only the permissions that these commands need. The AWS account's own policies
 * decide who may assume it.
 */
export class CatchUp extends Grantee {
  readonly role: Role;
  readonly settings: BridgeConfig;

  constructor(scope: Construct, id: string, props: Omit<Parts, 'bus'> & { readonly drain: BridgeFunction }) {
    super(scope, id);
    this.settings = props.settings;
    const { feedState, advertStatus, changedAdverts, drain, refreshToken } = props;
    this.role = new Role(this, 'Role', {
      description: 'For people: advert-bridge backfill, resync and audit',
      path: tokenReaderPathOf(props.settings),
      assumedBy: new AccountRootPrincipal(),
    });
    this.#readsTheStack();
    this.addStatement('DrainSettings', {
      actions: ['lambda:GetFunctionConfiguration'],
      resources: [drain.lambda.functionArn],
    });
    grantFeedState(this, feedState, {
      ...rateBudget,
      account: ['GetItem', 'PutItem', 'Query'],
      feed: ['Query', 'UpdateItem'],
      progress: ['GetItem', 'PutItem'],
    });
    grantAdvertStatus(this, advertStatus, 'GetItem', 'Query');
    grantTokens(this, refreshToken);
    grantChangedAdverts(this, changedAdverts.queue, 'SendMessage', 'GetQueueAttributes');
    grantDeadLetters(this, changedAdverts.deadLetters);
    this.grantKey();
  }

  /** Nothing to set: the commands read every name from the stack's outputs. */
  addEnvironment(): this {
    return this;
  }

  #readsTheStack(): void {
    const stack = stackArnOf(this);
    this.addStatement('Outputs', {
      actions: ['cloudformation:DescribeStacks'],
      resources: [stack],
    }).acknowledgeWildcard(
      stack,
      'The commands ask for the stack by its name, and its ARN ends in an ID. A name has no slash: this is no other stack.',
    );
  }
}
