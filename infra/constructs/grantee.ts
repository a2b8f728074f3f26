import type { PolicyStatementProps } from 'aws-cdk-lib/aws-iam';
import type { IConstruct } from 'constructs';
import type { EnvironmentName } from '../../shared/contract/environment.ts';

/** Whoever is granted something: a function, or a role for people. */
export interface Grantee extends IConstruct {
  /** Is told the name of a resource. */
  knows(key: EnvironmentName, value: string): this;
  /** Is granted one statement; `sid` says what for. */
  may(sid: string, statement: Omit<PolicyStatementProps, 'sid' | 'effect'>): this;
  /** Accepts a finding of cdk-nag about the grants, with the reason. */
  acknowledges(id: string, reason: string): this;
}
