/** Asks an IAM engine that is not ours: @cloud-copilot/iam-simulate. */
import { runSimulation } from '@cloud-copilot/iam-simulate';
import type { Context } from './aws-call.ts';
import { awsAccount, type RolePolicies, type Statement, type TemplatePolicies } from './template-policies.ts';

export interface Question {
  /** The caller, with its own policies. */
  readonly role: Pick<RolePolicies, 'id' | 'arn' | 'statements'>;
  readonly action: string;
  readonly resourceArn: string;
  readonly context: Context;
}

export interface Decision {
  readonly result: 'Allowed' | 'ExplicitlyDenied' | 'ImplicitlyDenied';
  /** The role's own statements that allow it. */
  readonly allowedBy: readonly Statement[];
}

/**
 * Whether the role may do it, by its own policies and that of the resource. Every call goes over TLS, unless the context says
 * otherwise.
 *
 * @throws {Error} when the engine finds fault with a policy or with the question, or does not look at a part of its context
 */
export async function decide(policies: TemplatePolicies, question: Question): Promise<Decision> {
  const { role, action, resourceArn, context } = question;
  const resourcePolicy = policies.resourcePolicy(resourceArn);
  const ofRole = {
    'aws:PrincipalArn': role.arn,
    'aws:PrincipalAccount': awsAccount,
    'aws:SecureTransport': 'true',
  };
  const simulated = await runSimulation(
    {
      request: {
        principal: `arn:aws:sts::${awsAccount}:assumed-role/${role.id}/session`,
        action,
        resource: { resource: resourceArn, accountId: awsAccount },
        contextVariables: { ...ofRole, ...context } as Record<string, string | string[]>,
      },
      identityPolicies: [{ name: role.id, policy: { Version: '2012-10-17', Statement: role.statements } }],
      serviceControlPolicies: [],
      resourceControlPolicies: [],
      ...(resourcePolicy && { resourcePolicy }),
    },
    {},
  );
  if (simulated.resultType !== 'single') {
    throw new Error(`${action} on ${resourceArn} cannot be simulated: ${JSON.stringify(simulated)}`);
  }
  const { analysis, ignoredContextKeys = [] } = simulated.result;
  if (ignoredContextKeys.length > 0) {
    throw new Error(`${action} has no condition key ${ignoredContextKeys.join(', ')}`);
  }
  const allowedBy = (analysis.identityAnalysis?.allowStatements ?? []).map(
    // The engine counts from 1.
    ({ statement }) => role.statements[statement.index() - 1] as Statement,
  );
  return { result: simulated.overallResult, allowedBy };
}

/** Whether a service may assume the role on behalf of the resource that the context names, by the role's trust policy. */
export async function mayAssume(role: RolePolicies, service: string, context: Context): Promise<boolean> {
  const simulated = await runSimulation(
    {
      request: {
        principal: service,
        action: 'sts:AssumeRole',
        resource: { resource: role.arn, accountId: awsAccount },
        contextVariables: context as Record<string, string | string[]>,
      },
      identityPolicies: [],
      resourcePolicy: { Version: '2012-10-17', Statement: role.trust },
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  if (simulated.resultType !== 'single') throw new Error(JSON.stringify(simulated));
  return simulated.overallResult === 'Allowed';
}
