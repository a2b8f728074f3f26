/**
 * The secret of the application's credentials, and the policies of all secrets.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_resource-policies.html
 */
import { Lazy, Stack, Validations } from 'aws-cdk-lib';
import { AnyPrincipal, type Conditions, Effect, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnResourcePolicy, CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { secretNamesOf } from '../../shared/contract/names.ts';
import type { BridgeFunction } from './bridge-function.ts';
import { type Parts, tokenReaderPathOf } from './grantee.ts';
import type { BridgeConfig } from './props/bridge-config.ts';
import { rolePathOf } from './props/resources.ts';

/** Policy of a secret: no other role may read it, whatever its own policies allow. */
const readOnlyBy = (sid: string, conditions: Conditions): PolicyStatement =>
  new PolicyStatement({
    sid,
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    conditions,
    actions: ['secretsmanager:GetSecretValue'],
    resources: ['*'], // In the policy of a secret: this secret.
  });

/**
 * The application's own credentials. Created without a value: an operator stores them, and no later deployment can
 * overwrite them. Who may do that, the policies of the operators' roles decide (docs/decisions/0003-tokens.md).
 */
export function applicationSecret(
  refreshToken: BridgeFunction,
  { namePrefix, encryptionKey, removalPolicy }: BridgeConfig,
  connect: BridgeFunction,
): void {
  const readers = [refreshToken, connect];
  const secret = new CfnSecret(refreshToken, 'Application', {
    name: secretNamesOf(namePrefix).application,
    kmsKeyId: encryptionKey?.keyArn,
    description: 'Client ID and secret at the partner service; filled in by: advert-bridge application',
  });
  secret.applyRemovalPolicy(removalPolicy);
  Validations.of(secret).acknowledge({
    id: 'AwsSolutions-SMG4',
    reason: 'The partner service gives out client secrets by hand, so nothing can rotate this one.',
  });
  const actions = ['secretsmanager:GetSecretValue'];
  for (const reader of readers)
    reader.addSecretStatement('ApplicationSecret', { actions, resources: [secret.ref] });
  // The tags of the secrets that it creates are those of this one.
  connect.addSecretStatement('ApplicationTags', {
    actions: ['secretsmanager:DescribeSecret'],
    resources: [secret.ref],
  });
  const notReaders = { ArnNotEquals: { 'aws:PrincipalArn': readers.map(({ role }) => role.roleArn) } };
  new CfnResourcePolicy(refreshToken, 'ApplicationReaders', {
    secretId: secret.ref,
    resourcePolicy: new PolicyDocument({ statements: [readOnlyBy('ReadOnlyByTokenFunctions', notReaders)] }),
    blockPublicPolicy: true,
  });
}

/**
 * Resource policy of each partner account's secret, which is created at run time. Roles whose path an Aspect changed, or
 * that exist already (`Role.customizeRoles`), are named by their ARNs, which are known when the template is written.
 */
export function partnerSecretPolicy(scope: Construct, { settings, tokenReaders }: Parts): object {
  const { partition, account } = Stack.of(scope);
  const path = tokenReaderPathOf(settings);
  const produce = () => {
    const arns = tokenReaders.map((role) =>
      rolePathOf(role) === path ? `arn:${partition}:iam::${account}:role${path}*` : role.roleArn,
    );
    return [...new Set(arns)];
  };
  const readers = Lazy.uncachedList({ produce });
  const statement = readOnlyBy('ReadOnlyByTokenReaders', { ArnNotLike: { 'aws:PrincipalArn': readers } });
  return { Version: '2012-10-17', Statement: [statement.toStatementJson()] };
}
