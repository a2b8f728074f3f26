/** Compares calls with grants: each call must be allowed, and each grant must be used by a call. */
import type { Context, IamRequest } from './aws-call.ts';
import { decide } from './decide.ts';
import type { RolePolicies, Statement, TemplatePolicies } from './template-policies.ts';

/** A call of a role, with the resource it is for. */
export interface RoleCall {
  readonly role: RolePolicies;
  readonly action: string;
  readonly resourceArn: string;
  readonly context: Context;
}

export interface GrantReport {
  /** Calls that were handed over, repeated ones too. */
  readonly recorded: number;
  readonly distinct: number;
  /** `role may not action on resource {context}: result`. */
  readonly denied: readonly string[];
  /** `role: Sid action`. */
  readonly unused: readonly string[];
}

const listed = (value: string | readonly string[]): readonly string[] =>
  typeof value === 'string' ? [value] : value;

const keyOf = ({ role, action, resourceArn, context }: RoleCall): string =>
  JSON.stringify([role.id, action, resourceArn, Object.entries(context).sort()]);

function distinctCalls(calls: readonly RoleCall[]): readonly RoleCall[] {
  return [...new Map(calls.map((call) => [keyOf(call), call])).values()];
}

/** Every grant of every role of the template, and every call. */
export async function compare(policies: TemplatePolicies, calls: readonly RoleCall[]): Promise<GrantReport> {
  const distinct = distinctCalls(calls);
  const denied: string[] = [];
  const used = new Map<Statement, Set<string>>();
  for (const call of distinct) {
    const { result, allowedBy } = await decide(policies, call);
    const { role, action, resourceArn, context } = call;
    if (result !== 'Allowed') {
      denied.push(`${role.id} may not ${action} on ${resourceArn} ${JSON.stringify(context)}: ${result}`);
    }
    for (const statement of allowedBy) {
      used.set(statement, (used.get(statement) ?? new Set()).add(action));
    }
  }
  const unused = policies.roles.flatMap((role) =>
    role.statements.flatMap((statement, index) =>
      listed(statement.Action)
        .filter((action) => !used.get(statement)?.has(action))
        .map((action) => `${role.id}: ${statement.Sid ?? `statement ${index + 1}`} ${action}`),
    ),
  );
  return { recorded: calls.length, distinct: distinct.length, denied, unused };
}

export const summary = ({ recorded, distinct, denied, unused }: GrantReport): string =>
  `grants: ${recorded} calls recorded, ${distinct} of them different, ${denied.length} denied, ${unused.length} grants unused`;

/** Where a request goes, by what names it: tables, queues, functions and the bus by their names in the recorded world. */
export type ArnOf = (request: Pick<IamRequest, 'service' | 'resource'>) => string;

/** What a call of a function's own code says of itself, for each grant that holds for that code alone. */
export const functionCalls = (
  policies: TemplatePolicies,
  functionId: string,
  requests: readonly IamRequest[],
  arnOf: ArnOf,
): RoleCall[] =>
  roleCalls(policies.roleOf(functionId), requests, arnOf).map((call) => ({
    ...call,
    context: {
      ...call.context,
      'lambda:SourceFunctionArn': policies.arnOf('AWS::Lambda::Function', functionId),
    },
  }));

export const roleCalls = (role: RolePolicies, requests: readonly IamRequest[], arnOf: ArnOf): RoleCall[] =>
  requests.map(({ action, context, ...named }) => ({
    role,
    action,
    context,
    resourceArn: arnOf({ ...named }),
  }));
