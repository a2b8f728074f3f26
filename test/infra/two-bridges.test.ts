import { Stack, Stage } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { expect, it } from 'vitest';
import { AdvertBridge, type AdvertBridgeProps } from '../../infra/cdk.ts';
import { metricsNamespace } from '../../shared/contract/names.ts';
import { bareApp, env, inShort, partnerBaseUrl, type Resource, templateOf } from '../helpers/synthesized.ts';

/** All optional resources, so that every name is in the template. */
const everything: Partial<AdvertBridgeProps> = {
  ...{ auditSample: 100, dashboard: true, alarmEmail: 'team@example.com' },
  ...{ subscriberAccounts: ['444455556666'], organizationId: 'o-a1b2c3d4e5' },
};
const bridgeIn = (scope: Construct, id: string, props: Partial<AdvertBridgeProps> = {}) =>
  new AdvertBridge(scope, id, { partnerBaseUrl, ...everything, ...props });

type Resources = Readonly<Record<string, Resource>>;

function inOneStack(): readonly [Resources, Resources] {
  const stack = new Stack(bareApp(), 'Shop', { env });
  bridgeIn(stack, 'First');
  bridgeIn(stack, 'Second', { name: 'Second', busName: 'second' });
  const entries = Object.entries(templateOf(stack).resources);
  const of = (id: string) => Object.fromEntries(entries.filter(([key]) => key.startsWith(id)));
  expect(Object.keys(of('First')).length * 2).toBe(entries.length);
  return [of('First'), of('Second')];
}

/** Properties that name a resource, or something outside CloudFormation that is one by its name. */
const naming = /^(?!MetricName|AttributeName|EventBusName|KeyName)(Name|.*Name|Path|StatementId)$/;
/** These are named within their role, their bus and their registry. */
const within = /^AWS::(IAM::Policy|Events::EventBusPolicy|EventSchemas::Schema)$/;

/** The names that the template gives, with the type of what has them, and the dimensions of metrics. */
const namesIn = (resources: Resources): string[] =>
  Object.values(resources)
    .filter(({ Type }) => !within.test(Type))
    .flatMap(({ Type, Properties = {} }) => [
      ...Object.entries(Properties)
        .filter(([key, value]) => naming.test(key) && typeof value === 'string')
        .map(([, value]) => `${Type} ${value}`),
      ...(Properties.Namespace === metricsNamespace
        ? [`metrics ${JSON.stringify(Properties.Dimensions)}`]
        : []),
    ]);

/** What roles and resource policies allow or deny. */
const statementsOf = (resources: Resources): Record<string, unknown>[] =>
  Object.values(resources).flatMap(({ Properties = {} }) =>
    [Properties.PolicyDocument, Properties.ResourcePolicy, Properties.KeyPolicy, Properties].flatMap(
      (document) => document?.Statement ?? [],
    ),
  );

const [first, second] = inOneStack();

it('two bridges in one stack share no name and no dimension of metrics', () => {
  const [some, others] = [namesIn(first), namesIn(second)];
  // The template must contain these; otherwise the comparison would show nothing.
  for (const kind of ['SecretsManager::Secret', 'EventSchemas::Registry', 'CloudWatch::Alarm', 'metrics'])
    expect(some.filter((name) => name.includes(kind))).not.toEqual([]);
  expect(some.filter((name) => others.includes(name))).toEqual([]);
});

it.each([
  ['first', first, second],
  ['second', second, first],
])('of two bridges in one stack no policy of the %s reaches the other', (_which, one, other) => {
  const statements = statementsOf(one);
  expect(statements.length).toBeGreaterThan(50);
  const text = JSON.stringify(statements);
  const foreign = Object.keys(other).filter((id) => !(id in one));
  expect(foreign.filter((id) => text.includes(`"${id}"`))).toEqual([]);
  const [variables] = Object.values(one).flatMap(
    ({ Properties }) => Properties?.Environment?.Variables ?? [],
  );
  const isOwn = new RegExp(
    `^"(\\$\\{\\w*RefreshTokenApplication\\}|arn:[^"]+:secret:${variables.NAME_PREFIX}/partner-accounts/\\*)"$`,
  );
  const secrets = statements
    .filter(({ Action, Principal }) => !Principal && JSON.stringify(Action).includes('secretsmanager:'))
    .flatMap(({ Resource }) => [Resource].flat())
    .map((resource) => JSON.stringify(inShort(resource)));
  expect(secrets).not.toEqual([]);
  expect(secrets.filter((resource) => !isOwn.test(resource))).toEqual([]);
});

it('two default bridge names in one stack are rejected together', () => {
  const stack = new Stack(bareApp(), 'Shop');
  bridgeIn(stack, 'First');
  expect(() => bridgeIn(stack, 'Second')).toThrow(
    [
      'The properties of the bridge Shop/Second have faults.',
      '  name: expected another one than Shop, which is that of the bridge Shop/First',
      '  busName: expected another one than adverts, which is that of the bridge Shop/First: or hand its bus to both, as bus',
    ].join('\n'),
  );
});

it('a default bridge name is rejected for the default bus in a 2nd stack', () => {
  const app = bareApp();
  bridgeIn(new Stack(app, 'One', { env }), 'Bridge');
  expect(() => bridgeIn(new Stack(app, 'Two', { env }), 'Bridge')).toThrow(/busName: expected another/);
});

it('two bridge names may be equal in another region or stage, or on a bus', () => {
  const app = bareApp();
  const { bus } = bridgeIn(new Stack(app, 'Frankfurt', { env, stackName: 'Shop' }), 'Bridge');
  bridgeIn(new Stack(app, 'Dublin', { env: { ...env, region: 'eu-west-1' }, stackName: 'Shop' }), 'Bridge');
  for (const stage of ['Test', 'Prod']) bridgeIn(new Stack(new Stage(app, stage), 'Shop'), 'Bridge');
  const stack = new Stack(app, 'Both', { env });
  const second = new AdvertBridge(stack, 'Second', { partnerBaseUrl, name: 'Second', bus });
  expect(second.bus).toBe(bus);
  expect(templateOf(stack).ofType('AWS::Events::EventBus')).toEqual([]);
});
