import { Stack } from 'aws-cdk-lib';
import type { PolicyStatementProps } from 'aws-cdk-lib/aws-iam';
import type { IConstruct } from 'constructs';
import type { EnvironmentName } from '../../shared/contract/environment.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

/** Whoever is granted something: a function, or a role for people. */
export interface Grantee extends IConstruct {
  /** Of the bridge that it belongs to. */
  readonly settings: BridgeConfig;
  /** Is told the name of a resource. */
  knows(key: EnvironmentName, value: string): this;
  /** Is granted one statement; `sid` says what for. */
  may(sid: string, statement: Omit<PolicyStatementProps, 'sid' | 'effect'>): this;
  /** Accepts a finding of cdk-nag about the grants, with the reason. */
  acknowledges(id: string, reason: string): this;
}

/** How cdk-nag names a grant on `resource`, which has a wildcard; in somebody's stack parts of its ARN may be known. */
export const wildcardFinding = (scope: IConstruct, resource: string): string =>
  `AwsSolutions-IAM5[Resource::${flattened(Stack.of(scope).resolve(resource))}]`;

/** References in angle brackets, as cdk-nag has them. */
function flattened(value: unknown): string {
  if (typeof value === 'string') return value;
  const { Ref: reference, 'Fn::Join': joined } = value as { Ref?: string; 'Fn::Join'?: [string, unknown[]] };
  return joined ? joined[1].map(flattened).join(joined[0]) : `<${reference}>`;
}
