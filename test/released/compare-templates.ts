/**
 * What a deployment over a released stack would destroy or take away from functions that still run. Which properties
 * CloudFormation cannot change in place is known by the CDK's own diff, out of AWS's resource specification.
 */
import { fullDiff, type ResourceDifference, ResourceImpact } from '@aws-cdk/cloudformation-diff';
import { policiesOf, type RolePolicies, type Statement } from '../infra/iam/template-policies.ts';
import type { ReleasedTemplate } from './template.ts';

export interface Finding {
  /** What an entry of allowed-changes.ts names, such as `FeedStateD0E8B935 is replaced`. */
  readonly id: string;
  /** For a person: what would happen, and why that is bad. */
  readonly says: string;
}

/** Hold nothing, and nobody outside the stack knows their names: a new one does as well as the old. */
const replaceable = new Set([
  'AWS::CloudWatch::Alarm',
  'AWS::CloudWatch::Dashboard',
  'AWS::Events::EventBusPolicy',
  'AWS::IAM::Policy',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Lambda::EventSourceMapping',
  'AWS::Lambda::Permission',
  'AWS::Logs::QueryDefinition',
  'AWS::Scheduler::Schedule',
  'AWS::SecretsManager::ResourcePolicy',
  'AWS::SNS::Subscription',
  'AWS::SNS::TopicPolicy',
  'AWS::SQS::QueuePolicy',
]);

/** @returns nothing when the stack of `before` can become that of `after` and back, under traffic */
export function compareTemplates(before: ReleasedTemplate, after: ReleasedTemplate): Finding[] {
  const found: Finding[] = [];
  fullDiff(before, after).resources.forEachDifference((id, difference) => {
    const type = difference.oldResourceType;
    if (type === undefined || replaceable.has(type)) return;
    const finding = resourceFinding(id, type, difference);
    if (finding) found.push(finding);
  });
  for (const name of Object.keys(before.Outputs)) {
    if (name in after.Outputs) continue;
    const says = `The stack has no output ${name} any more, which scripts and the command line of the release read.`;
    found.push({ id: `output ${name} is gone`, says });
  }
  return [...found, ...lostGrants(before, after)];
}

function resourceFinding(id: string, type: string, difference: ResourceDifference): Finding | undefined {
  const what = `${id} (${type})`;
  switch (difference.changeImpact) {
    case ResourceImpact.WILL_DESTROY:
    case ResourceImpact.WILL_ORPHAN: {
      const says =
        `${what} is not in the template any more, or under another logical ID: CloudFormation would make a new, empty ` +
        'one, and delete or leave behind the one in use.';
      return { id: `${id} is gone`, says };
    }
    case ResourceImpact.WILL_REPLACE:
    case ResourceImpact.MAY_REPLACE: {
      const because = Object.entries(difference.propertyUpdates)
        .filter(([, { changeImpact }]) => changeImpact !== ResourceImpact.WILL_UPDATE)
        .map(([name]) => name);
      const says =
        `${what} would be replaced, because ${because.join(', ') || 'its type'} cannot be changed in place: what it ` +
        'holds, and who knows it by its name, stays with the old one.';
      return { id: `${id} is replaced`, says };
    }
  }
  const { oldValue, newValue } = difference;
  if (oldValue?.DeletionPolicy !== 'Retain' || newValue?.DeletionPolicy === 'Retain') return undefined;
  return { id: `${id} is not kept`, says: `${what} would no longer outlive the stack.` };
}

/**
 * CloudFormation changes the policies of roles before the functions that have them, and going back likewise: so for a
 * while the old code has the new grants.
 */
function lostGrants(before: ReleasedTemplate, after: ReleasedTemplate): Finding[] {
  const now = new Map(policiesOf(after.Resources).roles.map((role) => [role.id, role]));
  return policiesOf(before.Resources).roles.flatMap((role) => {
    const then = grantsOf(role);
    const left = now.get(role.id);
    if (!left) return [];
    const covering = grantsOf(left);
    const lost = then.filter((grant) => !covering.some((other) => covers(other, grant)));
    return lost.map(({ action, resource }) => ({
      id: `${role.id} may not ${action} on ${resource}`,
      says:
        `The role ${role.id} may no longer ${action} on ${resource}, which the functions of the release still do ` +
        'until they are replaced.',
    }));
  });
}

interface Grant {
  readonly action: string;
  readonly resource: string;
  readonly condition: Statement['Condition'];
}

function grantsOf({ statements }: RolePolicies): Grant[] {
  const allowed = statements.filter(({ Effect }) => Effect === 'Allow');
  return allowed.flatMap(({ Action, Resource, Condition: condition }) =>
    [Action]
      .flat()
      .flatMap((action) =>
        [Resource].flat().map((resource) => ({ action, resource: String(resource), condition })),
      ),
  );
}

/** Whether all that `grant` allows is allowed by `other`; a condition has to be the same, or none. */
const covers = (other: Grant, grant: Grant): boolean =>
  isWithin(grant.action, other.action) &&
  isWithin(grant.resource, other.resource) &&
  (other.condition === undefined || JSON.stringify(other.condition) === JSON.stringify(grant.condition));

/** @param pattern with `*` for any text, as in a policy */
function isWithin(text: string, pattern: string): boolean {
  const exact = pattern.split('*').map((part) => part.replace(/[^\w:/-]/g, '\\$&'));
  return new RegExp(`^${exact.join('.*')}$`).test(text);
}
