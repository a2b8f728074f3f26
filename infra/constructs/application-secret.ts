import { Validations } from 'aws-cdk-lib';
import { AnyPrincipal, Effect, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnResourcePolicy, CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { secretNamesOf } from '../../shared/contract/names.ts';
import type { BridgeFunction } from './bridge-function.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

/**
 * The secret of the application's own credentials. It is created without a value: an operator stores the credentials,
 * and no later deployment can overwrite them.
 *
 * Only the given functions may read it, whatever other roles' policies allow. Operators write it; their roles are not
 * known here, so their own policies decide (docs/decisions/0003-tokens.md).
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_resource-policies.html
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
  const nobodyElse = new PolicyStatement({
    sid: 'ReadOnlyByTokenFunctions',
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    actions,
    resources: ['*'],
    conditions: { ArnNotEquals: { 'aws:PrincipalArn': readers.map(({ role }) => role.roleArn) } },
  });
  new CfnResourcePolicy(scope, 'ApplicationReaders', {
    secretId: secret.ref,
    resourcePolicy: new PolicyDocument({ statements: [nobodyElse] }),
    blockPublicPolicy: true,
  });
}
