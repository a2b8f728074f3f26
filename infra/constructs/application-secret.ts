import { Validations } from 'aws-cdk-lib';
import { AnyPrincipal, Effect, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnResourcePolicy, CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { secretNamesOf } from '../../shared/contract/names.ts';
import type { BridgeFunction } from './bridge-function.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

/**
 * The application's own credentials. The secret is made without a value: a person fills it in, and no later deploy can
 * overwrite that.
 */
export class ApplicationSecret {
  readonly #scope: Construct;
  readonly #secret: CfnSecret;

  constructor(scope: Construct, { namePrefix, encryptionKey, removalPolicy }: BridgeConfig) {
    this.#scope = scope;
    this.#secret = new CfnSecret(scope, 'Application', {
      name: secretNamesOf(namePrefix).application,
      kmsKeyId: encryptionKey?.keyArn,
      description: 'Client ID and secret at the partner service; filled in by: advert-bridge application',
    });
    this.#secret.applyRemovalPolicy(removalPolicy);
    Validations.of(this.#secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'The partner service gives out client secrets by hand, so nothing can rotate this one.',
    });
  }

  /**
   * Lets these functions read it, and denies that to everybody else, whatever their own policies allow. Writing is done
   * by a person, whose role no deploy knows: their own policy decides (docs/decisions/0003-tokens.md).
   *
   * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_resource-policies.html
   */
  readableBy(...users: readonly BridgeFunction[]): void {
    const actions = ['secretsmanager:GetSecretValue'];
    for (const user of users) user.may('ApplicationSecret', { actions, resources: [this.#secret.ref] });
    const nobodyElse = new PolicyStatement({
      sid: 'ReadOnlyByTokenFunctions',
      effect: Effect.DENY,
      principals: [new AnyPrincipal()],
      actions,
      resources: ['*'],
      conditions: { ArnNotEquals: { 'aws:PrincipalArn': users.map(({ role }) => role.roleArn) } },
    });
    new CfnResourcePolicy(this.#scope, 'ApplicationReaders', {
      secretId: this.#secret.ref,
      resourcePolicy: new PolicyDocument({ statements: [nobodyElse] }),
      blockPublicPolicy: true,
    });
  }
}
