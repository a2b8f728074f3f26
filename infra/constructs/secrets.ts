/**
 * The secret of the application's credentials, and grants for the secrets of partner accounts. The latter are created at
 * run time, so only their prefix is known here.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_resource-policies.html
 */
import { Stack, Validations } from 'aws-cdk-lib';
import { AnyPrincipal, type Conditions, Effect, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnResourcePolicy, CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { secretNamesOf } from '../../shared/contract/names.ts';
import type { BridgeFunction } from './bridge-function.ts';
import type { Grantee } from './grantee.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

/** Policy of a secret: no other role may read it, whatever its own policies allow. */
const readOnlyBy = (sid: string, conditions: Conditions): PolicyStatement =>
  new PolicyStatement({
    ...{ sid, effect: Effect.DENY, principals: [new AnyPrincipal()], conditions },
    actions: ['secretsmanager:GetSecretValue'],
    resources: ['*'], // In the policy of a secret: this secret.
  });

/**
 * The secret of the application's own credentials. It is created without a value: an operator stores the credentials,
 * and no later deployment can overwrite them.
 * Operators write it; their roles are not known here, so their own policies decide (docs/decisions/0003-tokens.md).
 */
export function applicationSecret(
  scope: Construct,
  { namePrefix, encryptionKey, removalPolicy }: BridgeConfig,
  readers: readonly BridgeFunction[],
): void {
  const secret = new CfnSecret(scope, 'Application', {
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
  const notReaders = { ArnNotEquals: { 'aws:PrincipalArn': readers.map(({ role }) => role.roleArn) } };
  new CfnResourcePolicy(scope, 'ApplicationReaders', {
    secretId: secret.ref,
    resourcePolicy: new PolicyDocument({ statements: [readOnlyBy('ReadOnlyByTokenFunctions', notReaders)] }),
    blockPublicPolicy: true,
  });
}

/**
 * Path of the roles that may read tokens: drain, fan-out, refresh-token, and people who catch up. The secrets' policy
 * names the path instead of roles: a deployment may replace a role, but it cannot change the policies of secrets that
 * were created at run time.
 */
export const tokenReaderPathOf = ({ namePrefix }: BridgeConfig): string => `/${namePrefix}/token-readers/`;

/** Resource policy of each partner account's secret, as JSON. */
function partnerSecretPolicy(scope: BridgeFunction): string {
  const { partition, account } = Stack.of(scope);
  const readers = `arn:${partition}:iam::${account}:role${tokenReaderPathOf(scope.settings)}*`;
  const statement = readOnlyBy('ReadOnlyByTokenReaders', { ArnNotLike: { 'aws:PrincipalArn': readers } });
  return Stack.of(scope).toJsonString({ Version: '2012-10-17', Statement: [statement.toStatementJson()] });
}

export function grantReadPartnerSecrets(user: Grantee): void {
  grant(user, 'Read', ['GetSecretValue']);
}

/** Allows reading and replacing the token pair of a connected account, but not creating or deleting secrets. */
export function grantRefreshPartnerSecrets(user: BridgeFunction): void {
  grant(user, 'Read', ['GetSecretValue']);
  grant(user, 'Write', ['PutSecretValue']);
}

/**
 * Allows creating and deleting secrets, but not reading them. A deleted secret can be restored during its recovery
 * window, so this function may not delete without one.
 *
 * @see https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecretsmanager.html for the condition
 * keys
 */
export function grantConnectPartnerSecrets(user: BridgeFunction): void {
  user.addEnvironment('partnerSecretPolicy', partnerSecretPolicy(user));
  const { encryptionKey } = user.settings;
  if (encryptionKey) user.addEnvironment('partnerSecretKey', encryptionKey.keyArn);
  grant(user, 'Write', ['CreateSecret', 'PutSecretValue', 'RestoreSecret']);
  grant(user, 'Remove', ['DeleteSecret'], {
    BoolIfExists: { 'secretsmanager:ForceDeleteWithoutRecovery': 'false' },
  });
  grant(user, 'Protect', ['PutResourcePolicy'], { Bool: { 'secretsmanager:BlockPublicPolicy': 'true' } });
}

function grant(user: Grantee, what: string, actions: readonly string[], conditions?: Conditions): void {
  const { partition, region, account } = Stack.of(user);
  const { partnerAccountPrefix } = secretNamesOf(user.settings.namePrefix);
  const secrets = `arn:${partition}:secretsmanager:${region}:${account}:secret:${partnerAccountPrefix}*`;
  user
    .addSecretStatement(`PartnerAccountSecrets${what}`, {
      actions: actions.map((action) => `secretsmanager:${action}`),
      resources: [secrets],
      ...(conditions && { conditions }),
    })
    .acknowledgeWildcard(
      secrets,
      'Partner accounts are added at run time. Their secrets share a prefix that nothing else uses.',
    );
}
