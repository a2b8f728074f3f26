/**
 * Grants for the secrets of partner accounts. These secrets are created at run time, so only their prefix is known
 * here.
 */
import { Stack } from 'aws-cdk-lib';
import { AnyPrincipal, type Conditions, Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { secretNamesOf } from '../../shared/contract/names.ts';
import type { BridgeFunction } from './bridge-function.ts';
import { type Grantee, wildcardFinding } from './grantee.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

/**
 * Path of the roles that may read tokens: drain, fan-out, refresh-token, and people who catch up. The secrets' policy
 * names the path instead of roles: a deployment may replace a role, but it cannot change the policies of secrets that
 * were created at run time.
 */
export const tokenReaderPathOf = ({ namePrefix }: BridgeConfig): string => `/${namePrefix}/token-readers/`;

/**
 * Resource policy of each partner account's secret, as JSON: no other role may read the secret, whatever its own
 * policies allow.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_resource-policies.html
 */
function partnerSecretPolicy(scope: BridgeFunction): string {
  const { partition, account } = Stack.of(scope);
  const readers = `arn:${partition}:iam::${account}:role${tokenReaderPathOf(scope.settings)}*`;
  const statement = new PolicyStatement({
    sid: 'ReadOnlyByTokenReaders',
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    actions: ['secretsmanager:GetSecretValue'],
    resources: ['*'], // In the policy of a secret: this secret.
    conditions: { ArnNotLike: { 'aws:PrincipalArn': readers } },
  });
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
    .acknowledge(
      wildcardFinding(user, secrets),
      'Partner accounts are added at run time. Their secrets share a prefix that nothing else uses.',
    );
}
