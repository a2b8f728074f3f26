import { Stack, Validations } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { type Conditions, type IRole, PolicyStatement, type PolicyStatementProps } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { ResourceName } from '../../shared/contract/environment.ts';
import { detailTypes, secretNamesOf } from '../../shared/contract/names.ts';
import type { ChangedAdverts } from './changed-adverts.ts';
import type { CustomEventBus } from './custom-event-bus.ts';
import { bridgeEvents } from './event-bus.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

export interface Parts {
  readonly settings: BridgeConfig;
  readonly feedState: ITable;
  readonly advertStatus: ITable;
  readonly changedAdverts: ChangedAdverts;
  /** The buses on which the bridge publishes: one of them, or both. */
  readonly bus: IEventBus | undefined;
  readonly customBus: CustomEventBus | undefined;
  /** The roles that may read tokens: filled while they are made. */
  readonly tokenReaders: IRole[];
}

/** Partition keys of the feed-state table (shared/contract/names.ts). */
type ItemKind = 'account' | 'feed' | 'books' | 'progress' | 'found' | 'bridge' | 'aside' | 'dead';
type TableAction = 'DeleteItem' | 'GetItem' | 'PutItem' | 'Query' | 'UpdateItem';
type Statement = Omit<PolicyStatementProps, 'sid'>;

/**
 * Path of the roles that may read tokens: drain, fan-out, refresh-token, and people who catch up. The secrets' policy
 * names the path instead of roles: a deployment may replace a role, but it cannot change the policies of secrets that
 * were created at run time.
 */
export const tokenReaderPathOf = ({ namePrefix }: BridgeConfig): string => `/${namePrefix}/token-readers/`;

/**
 * The receiver of grants: a function, or a role for people. Each `grant…` adds a statement to the role's policy,
 * together with the environment variable that names the resource.
 */
export abstract class Grantee extends Construct {
  abstract readonly role: IRole;
  readonly parts: Parts;

  constructor(scope: Construct, id: string, parts: Parts) {
    super(scope, id);
    this.parts = parts;
  }

  /** Receives the name of a resource. People read it from the stack's outputs. */
  addEnvironment(_key: ResourceName, _value: string): this {
    return this;
  }

  addStatement(sid: string, statement: Statement): this {
    this.role.addToPrincipalPolicy(new PolicyStatement({ sid, ...statement }));
    return this;
  }

  addSecretStatement(sid: string, statement: Statement): this {
    return this.addStatement(sid, statement);
  }

  /** Accepts that cdk-nag finds a wildcard in `resource` of a grant, with the reason. */
  acknowledgeWildcard(resource: string, reason: string): this {
    const id = `AwsSolutions-IAM5[Resource::${flattened(Stack.of(this).resolve(resource))}]`;
    Validations.of(this).acknowledge({ id, reason });
    return this;
  }

  /**
   * Allows the given actions for each kind of item, and those of the rate budget, from which every function takes slots
   * before it sends requests. IAM refuses a call for items of two kinds, because one statement must allow all its items.
   */
  grantFeedState(actions: Readonly<Partial<Record<ItemKind, readonly TableAction[]>>>): this {
    const { feedState } = this.parts;
    const all = { bridge: ['GetItem', 'PutItem'], ...actions };
    for (const [kind, allowed] of Object.entries(all)) {
      this.#grantItems(`FeedState${kind[0]?.toUpperCase()}${kind.slice(1)}`, feedState, kind, allowed);
    }
    return this.addEnvironment('feedStateTable', feedState.tableName);
  }

  grantAdvertStatus(...actions: readonly TableAction[]): this {
    const { advertStatus } = this.parts;
    this.#grantItems('AdvertStatus', advertStatus, 'history', actions);
    return this.addEnvironment('advertStatusTable', advertStatus.tableName);
  }

  #grantItems(sid: string, table: ITable, kind: string, actions: readonly string[]): void {
    this.addStatement(sid, {
      actions: actions.map((action) => `dynamodb:${action}`),
      resources: [table.tableArn],
      conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [kind] } },
    });
  }

  grantChangedAdverts(...actions: readonly string[]): this {
    const { queueUrl, queueArn } = this.parts.changedAdverts.queue;
    return this.addEnvironment('queueUrl', queueUrl).addStatement('ChangedAdverts', {
      actions: actions.map((action) => `sqs:${action}`),
      resources: [queueArn],
    });
  }

  grantPublish(...types: readonly (keyof typeof detailTypes)[]): this {
    const { bus, customBus, settings } = this.parts;
    const conditions = bridgeEvents(types.map((type) => detailTypes[type]));
    const resources: string[] = [];
    if (bus) {
      // A name means a bus in the bridge's own AWS account. The ARN also finds an existing bus in another one.
      this.addEnvironment('eventBusName', settings.bus ? bus.eventBusArn : bus.eventBusName);
      resources.push(bus.eventBusArn);
    }
    if (customBus) {
      this.addEnvironment('customEventBusArn', customBus.arn);
      resources.push(customBus.arn);
    }
    return this.addStatement('Events', { actions: ['events:PutEvents'], resources, conditions });
  }

  /** Reads the tokens of partner accounts, and invokes `refreshToken` to refresh expired ones. */
  grantTokens({ functionArn, functionName }: IFunction): this {
    const statement = { actions: ['lambda:InvokeFunction'], resources: [functionArn] };
    return this.grantPartnerSecrets('Read', ['GetSecretValue'])
      .addEnvironment('refreshTokenFunction', functionName)
      .addStatement('RefreshToken', statement);
  }

  /** The secrets of partner accounts are created at run time, so only their prefix is known here. */
  get partnerSecrets(): string {
    const { partition, region, account } = Stack.of(this);
    const { partnerAccountPrefix } = secretNamesOf(this.parts.settings.namePrefix);
    return `arn:${partition}:secretsmanager:${region}:${account}:secret:${partnerAccountPrefix}*`;
  }

  grantPartnerSecrets(what: string, actions: readonly string[], conditions?: Conditions): this {
    const secrets = this.partnerSecrets;
    return this.addSecretStatement(`PartnerAccountSecrets${what}`, {
      actions: actions.map((action) => `secretsmanager:${action}`),
      resources: [secrets],
      ...(conditions && { conditions }),
    }).acknowledgeWildcard(
      secrets,
      'Partner accounts are added at run time. Their secrets share a prefix that nothing else uses.',
    );
  }

  /**
   * Allows it to use the bridge's KMS key, if there is one. The services call KMS on its behalf: DynamoDB and SQS to
   * read and write, Secrets Manager with each value.
   *
   * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
   */
  protected grantKey(): void {
    const { encryptionKey } = this.parts.settings;
    if (!encryptionKey) return;
    this.addStatement('Key', {
      actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
      resources: [encryptionKey.keyArn],
    });
  }
}

/** As cdk-nag names a resource: with references in angle brackets. In other stacks, parts of its ARN may be known. */
function flattened(value: unknown): string {
  if (typeof value === 'string') return value;
  const { Ref: reference, 'Fn::Join': joined } = value as { Ref?: string; 'Fn::Join'?: [string, unknown[]] };
  return joined ? joined[1].map(flattened).join(joined[0]) : `<${reference}>`;
}
