import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { AnyPrincipal, Effect, type IRole, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnResourcePolicy, CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { secretNames } from '../../shared/contract/names.ts';
import type { StackSettings } from '../../shared/contract/settings.ts';
import { BridgeFunction } from './bridge-function.ts';
import type { DurableTable } from './durable-table.ts';
import { publishesOn, rateBudget, usesFeedState, withPartnerAccountSecrets } from './grants.ts';
import { Schedule } from './schedule.ts';

export interface RefreshTokenProps {
  readonly settings: StackSettings;
  readonly feedState: DurableTable;
  readonly bus: IEventBus;
}

/** Tokens are refreshed on demand too: this finds those that nobody has asked for, in good time before they die. */
const every = Duration.minutes(15);
/** Below the lease of its lock, two minutes: whoever takes over finds nobody still writing. */
const timeout = Duration.minutes(1);

/** Keeps the tokens of partner accounts alive; the only one that writes their secrets. */
export class RefreshToken extends Construct {
  readonly function: BridgeFunction;
  readonly schedule: Schedule;

  constructor(scope: Construct, id: string, { settings, feedState, bus }: RefreshTokenProps) {
    super(scope, id);
    this.function = new BridgeFunction(this, 'Keeper', {
      name: 'refreshToken',
      description: 'Refreshes the tokens of partner accounts, connects and disconnects them',
      handler: 'functions/refresh-token/handler.ts',
      timeout,
      settings,
    });
    usesFeedState(this.function, feedState, {
      ...rateBudget,
      account: ['DeleteItem', 'GetItem', 'PutItem', 'Query'],
      feed: ['BatchWriteItem', 'GetItem', 'Query', 'UpdateItem'],
      books: ['BatchWriteItem', 'GetItem', 'Query'],
    });
    withPartnerAccountSecrets(this.function, [
      'GetSecretValue',
      'PutSecretValue',
      'CreateSecret',
      'RestoreSecret',
      'DeleteSecret',
    ]);
    const application = this.#applicationSecret();
    this.function.may('ApplicationSecret', {
      actions: ['secretsmanager:GetSecretValue'],
      resources: [application.ref],
    });
    this.#readOnlyBy(this.function.role, application);
    publishesOn(this.function, bus);
    this.schedule = new Schedule(this, 'EveryQuarter', {
      description: 'Refreshes tokens that have run out',
      target: this.function,
      every,
    });
  }

  /** By its adverts `connect` knows the user of a partner account again. */
  looksUp(advertStatus: DurableTable): void {
    this.function.knows('advertStatusTable', advertStatus.tableName).may('AdvertStatus', {
      actions: ['dynamodb:BatchGetItem'],
      resources: [advertStatus.tableArn],
    });
  }

  /**
   * Made without a value: there is none to be known here, none that a later deploy could put over the one that a person
   * has filled in, and its absence cannot be taken for one.
   */
  #applicationSecret(): CfnSecret {
    const secret = new CfnSecret(this, 'Application', {
      name: secretNames.application,
      description: 'Client ID and secret at the partner service; filled in by: advert-bridge application',
    });
    secret.applyRemovalPolicy(RemovalPolicy.RETAIN);
    Validations.of(secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason:
        'The partner service gives client secrets out by hand: there is nothing that could rotate this one.',
    });
    return secret;
  }

  /**
   * Nobody else reads the application's credentials, whatever their own policies allow. Writing is left to those: it is
   * done by a person's role, which no deploy knows (docs/decisions/tokens.md).
   *
   * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_resource-policies.html
   */
  #readOnlyBy(role: IRole, secret: CfnSecret): void {
    const nobodyElse = new PolicyStatement({
      sid: 'ReadOnlyByRefreshToken',
      effect: Effect.DENY,
      principals: [new AnyPrincipal()],
      actions: ['secretsmanager:GetSecretValue'],
      resources: ['*'],
      conditions: { ArnNotEquals: { 'aws:PrincipalArn': role.roleArn } },
    });
    new CfnResourcePolicy(this, 'ApplicationReaders', {
      secretId: secret.ref,
      resourcePolicy: new PolicyDocument({ statements: [nobodyElse] }),
      blockPublicPolicy: true,
    });
  }
}
