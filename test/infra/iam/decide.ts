/** Asks an IAM engine that is not ours: @cloud-copilot/iam-simulate. */
import { runSimulation } from '@cloud-copilot/iam-simulate';
import type { Context } from './aws-call.ts';
import { awsAccount, type RolePolicies, type Statement, type TemplatePolicies } from './template-policies.ts';

/** A call of a role, with the resource it is for. */
export interface RoleCall {
  readonly role: RolePolicies;
  readonly action: string;
  readonly resourceArn: string;
  readonly context: Context;
}

type Request = Parameters<typeof runSimulation>[0];

/** @throws {Error} when the engine finds fault with a policy or with the request, or ignores a part of its context */
async function simulate(
  { context, ...request }: { action: string; resource: string; principal: string; context: Context },
  policies: Pick<Request, 'identityPolicies' | 'resourcePolicy'>,
) {
  const simulated = await runSimulation(
    {
      request: {
        ...request,
        resource: { resource: request.resource, accountId: awsAccount },
        contextVariables: context as Record<string, string | string[]>,
      },
      ...policies,
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  if (simulated.resultType !== 'single') throw new Error(JSON.stringify(simulated));
  const { ignoredContextKeys = [] } = simulated.result;
  if (ignoredContextKeys.length > 0)
    throw new Error(`${request.action} has no condition key ${ignoredContextKeys.join(', ')}`);
  return simulated;
}

/**
 * Whether the role may do it, by its own policies and that of the resource, with the role's own statements that allow it.
 * Every call goes over TLS, unless the context says otherwise.
 */
export async function decide(
  policies: TemplatePolicies,
  { role, action, resourceArn, context }: RoleCall,
): Promise<{ readonly result: string; readonly allowedBy: readonly Statement[] }> {
  const resourcePolicy = policies.resourcePolicy(resourceArn);
  const ofRole = {
    'aws:PrincipalArn': role.arn,
    'aws:PrincipalAccount': awsAccount,
    'aws:SecureTransport': 'true',
  };
  const principal = `arn:aws:sts::${awsAccount}:assumed-role/${role.id}/session`;
  const identity = { name: role.id, policy: { Version: '2012-10-17', Statement: role.statements } };
  const { overallResult, result } = await simulate(
    { principal, action, resource: resourceArn, context: { ...ofRole, ...context } },
    { identityPolicies: [identity], ...(resourcePolicy && { resourcePolicy }) },
  );
  const allowedBy = (result.analysis.identityAnalysis?.allowStatements ?? []).map(
    // The engine counts from 1.
    ({ statement }) => role.statements[statement.index() - 1] as Statement,
  );
  return { result: overallResult, allowedBy };
}

/** Whether a service may assume the role on behalf of the resource that the context names, by the role's trust policy. */
export async function mayAssume(role: RolePolicies, principal: string, context: Context): Promise<boolean> {
  const resourcePolicy = { Version: '2012-10-17', Statement: role.trust };
  const request = { principal, action: 'sts:AssumeRole', resource: role.arn, context };
  return (await simulate(request, { identityPolicies: [], resourcePolicy })).overallResult === 'Allowed';
}

/** What the policy of a resource says to one of AWS's own services, whose calls have no ARN of a principal. */
export async function decideForService(
  policies: TemplatePolicies,
  {
    principal,
    action,
    resourceArn: resource,
    context,
  }: Omit<RoleCall, 'role'> & { readonly principal: string },
): Promise<string> {
  const resourcePolicy = policies.resourcePolicy(resource) as Request['resourcePolicy'];
  const request = { principal, action, resource, context };
  return (await simulate(request, { identityPolicies: [], resourcePolicy })).overallResult;
}

/** Compares calls with grants: each call must be allowed, and each grant must be used by a call. */
export async function compare(policies: TemplatePolicies, calls: readonly RoleCall[]) {
  const keyOf = ({ role, context, ...call }: RoleCall): string =>
    JSON.stringify([role.id, call, Object.entries(context).sort()]);
  const distinct = [...new Map(calls.map((call) => [keyOf(call), call])).values()];
  const denied: string[] = [];
  const used = new Map<Statement, Set<string>>();
  for (const call of distinct) {
    const { result, allowedBy } = await decide(policies, call);
    const { role, action, resourceArn, context } = call;
    if (result !== 'Allowed')
      denied.push(`${role.id} may not ${action} on ${resourceArn} ${JSON.stringify(context)}: ${result}`);
    for (const each of allowedBy) used.set(each, (used.get(each) ?? new Set()).add(action));
  }
  const unused = policies.roles.flatMap(({ id, statements }) =>
    statements
      .filter(({ Effect }) => Effect === 'Allow')
      .flatMap((statement) =>
        [statement.Action]
          .flat()
          .filter((action) => !used.get(statement)?.has(action))
          .map((action) => `${id}: ${statement.Sid} ${action}`),
      ),
  );
  return { distinct: distinct.length, denied, unused };
}
