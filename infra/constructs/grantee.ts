import { Stack, Validations } from 'aws-cdk-lib';
import { type IRole, PolicyStatement, type PolicyStatementProps } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { ResourceName } from '../../shared/contract/environment.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

/** The receiver of grants: a function, or a role for people. */
export abstract class Grantee extends Construct {
  abstract readonly role: IRole;
  /** Settings of the bridge that it belongs to. */
  abstract readonly settings: BridgeConfig;

  /** Receives the name of a resource. */
  abstract addEnvironment(key: ResourceName, value: string): this;

  /** Adds a statement to the role's policy; `sid` says for what. */
  addStatement(sid: string, statement: Omit<PolicyStatementProps, 'sid'>): this {
    this.role.addToPrincipalPolicy(new PolicyStatement({ sid, ...statement }));
    return this;
  }

  /** Adds a statement about secrets. */
  addSecretStatement(sid: string, statement: Omit<PolicyStatementProps, 'sid'>): this {
    return this.addStatement(sid, statement);
  }

  /** Accepts that cdk-nag finds a wildcard in `resource` of a grant, with the reason. */
  acknowledgeWildcard(resource: string, reason: string): this {
    const id = `AwsSolutions-IAM5[Resource::${flattened(Stack.of(this).resolve(resource))}]`;
    Validations.of(this).acknowledge({ id, reason });
    return this;
  }

  /**
   * Allows it to use the bridge's KMS key, if there is one. The services call KMS on its behalf: DynamoDB and SQS to
   * read and write, Secrets Manager with each value.
   *
   * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
   */
  protected grantKey(): void {
    const { encryptionKey } = this.settings;
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
