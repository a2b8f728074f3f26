import { Stack, Stage } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { describe, expect, it } from 'vitest';
import { AdvertBridge, type AdvertBridgeProps } from '../../infra/cdk.ts';
import { metricsNamespace } from '../../shared/contract/names.ts';
import { bareApp, env, partnerBaseUrl, templateOf } from '../helpers/bridges.ts';
import { inShort, type Resource } from '../helpers/synthesized.ts';

/** All optional resources, so that every name is in the template. */
const everything: Partial<AdvertBridgeProps> = {
  ...{ auditSample: 100, dashboard: true, alarmEmail: 'team@example.com' },
  ...{ subscriberAccounts: ['444455556666'], organizationId: 'o-a1b2c3d4e5' },
};
const bridgeIn = (scope: Construct, id: string, props: Partial<AdvertBridgeProps> = {}) =>
  new AdvertBridge(scope, id, { partnerBaseUrl, ...everything, ...props });

/** The resources of a bridge: those of its stack whose construct is in it. */
type Resources = Readonly<Record<string, Resource>>;

function inOneStack(): readonly [Resources, Resources] {
  const stack = new Stack(bareApp(), 'Shop', { env });
  bridgeIn(stack, 'First');
  bridgeIn(stack, 'Second', { name: 'Second', busName: 'second' });
  const { resources } = templateOf(stack);
  const of = (id: string) =>
    Object.fromEntries(Object.entries(resources).filter(([key]) => key.startsWith(id)));
  expect(Object.keys(of('First')).length * 2).toBe(Object.keys(resources).length);
  return [of('First'), of('Second')];
}

function inTwoStacks(): readonly [Resources, Resources] {
  const app = bareApp();
  const first = new Stack(app, 'AdvertBridge', { env });
  const second = new Stack(app, 'Second', { env });
  bridgeIn(first, 'Default');
  bridgeIn(second, 'Default', { busName: 'second' });
  return [templateOf(first).resources, templateOf(second).resources];
}

/** Properties that name a resource, or something outside CloudFormation that is one by its name. */
const naming = /^(Name|.*Name|Path|StatementId)$/;
/** Names of their owner, or of a kind, not of a resource. */
const noNames = new Set(['MetricName', 'AttributeName', 'EventBusName', 'KeyName']);

/** The names that the template gives, with the type of what has them; references are not among them. */
function namesIn(resources: Resources): Set<string> {
  const names = new Set<string>();
  for (const { Type, Properties } of Object.values(resources)) {
    for (const [key, value] of Object.entries(Properties ?? {})) {
      if (naming.test(key) && !noNames.has(key) && typeof value === 'string') names.add(`${Type} ${value}`);
    }
  }
  return names;
}

/** ARNs and names in what roles and resource policies allow or deny, with the logical IDs that they refer to. */
const statementsOf = (resources: Resources): string[] =>
  Object.values(resources).flatMap(({ Type, Properties }) => {
    const documents = [Properties?.PolicyDocument, Properties?.ResourcePolicy, Properties?.KeyPolicy];
    const texts = documents.filter(Boolean).map((document) => JSON.stringify(document));
    return Type === 'AWS::Events::EventBusPolicy' ? [...texts, JSON.stringify(Properties.Statement)] : texts;
  });

describe.each([
  ['in one stack', inOneStack],
  ['in two stacks of one account and region', inTwoStacks],
] as const)('two bridges %s', (_where, made) => {
  const [first, second] = made();

  it('share no name', () => {
    const [some, others] = [namesIn(first), namesIn(second)];

    // The template must contain these; otherwise the comparison would show nothing.
    for (const type of ['SecretsManager::Secret', 'EventSchemas::Registry', 'CloudWatch::Alarm']) {
      expect([...some].some((name) => name.startsWith(`AWS::${type} `))).toBe(true);
    }
    // These are named within their role, their bus and their registry.
    const within = /^AWS::(IAM::Policy|Events::EventBusPolicy|EventSchemas::Schema) /;
    expect([...some].filter((name) => others.has(name) && !within.test(name))).toEqual([]);
  });

  it('share no dimension of their metrics', () => {
    const dimensions = (resources: Resources) =>
      Object.values(resources)
        .filter(({ Properties }) => Properties?.Namespace === metricsNamespace)
        .flatMap(({ Properties }) => Properties.Dimensions.map(({ Value }: { Value: string }) => Value));
    expect(dimensions(first).length).toBeGreaterThan(5);
    expect(dimensions(first).filter((value) => dimensions(second).includes(value))).toEqual([]);
  });

  it.each([
    ['first', 'second', first, second],
    ['second', 'first', second, first],
  ])('have no policy of the %s that reaches the %s', (_one, _other, one, other) => {
    const statements = statementsOf(one).join('\n');
    expect(statements.length).toBeGreaterThan(1000);

    const own = Object.keys(one);
    const foreign = Object.keys(other).filter((id) => !own.includes(id));
    expect(foreign.filter((id) => statements.includes(`"${id}"`))).toEqual([]);
    // From another stack a reference would be one of these.
    expect(JSON.stringify(one)).not.toMatch(/Fn::ImportValue|Fn::GetStackOutput/);
    const secrets = secretsReachedBy(one);
    expect(secrets.length).toBeGreaterThan(0);
    const { NAME_PREFIX } = Object.values(one).flatMap(
      ({ Properties }) => Properties?.Environment?.Variables ?? [],
    )[0];
    const isOwn = new RegExp(
      `^"(\\$\\{\\w*RefreshTokenApplication\\}|arn:[^"]+:secret:${NAME_PREFIX}/partner-accounts/\\*)"$`,
    );
    expect(secrets.filter((resource) => !isOwn.test(resource))).toEqual([]);
  });
});

/** Resources of the statements about secrets. */
const secretsReachedBy = (resources: Resources): string[] =>
  Object.values(resources)
    .filter(({ Type }) => Type === 'AWS::IAM::Policy')
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
    .filter(({ Action }) => JSON.stringify(Action).includes('secretsmanager:'))
    .flatMap(({ Resource: resource }) => [resource].flat())
    .map((resource) => JSON.stringify(inShort(resource)));

describe('the names of two bridges', () => {
  const messageOf = (make: () => unknown): string => {
    try {
      make();
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };

  it('are rejected together when both are defaults in one stack', () => {
    const stack = new Stack(bareApp(), 'Shop');
    bridgeIn(stack, 'First');

    expect(messageOf(() => bridgeIn(stack, 'Second')).split('\n')).toEqual([
      'The properties of the bridge Shop/Second have faults.',
      '  name: expected another one than Shop, which is that of the bridge Shop/First',
      '  busName: expected another one than adverts, which is that of the bridge Shop/First: or hand its bus to both, as bus',
    ]);
  });

  it('are rejected for the default bus in a second stack', () => {
    const app = bareApp();
    bridgeIn(new Stack(app, 'One', { env }), 'Bridge');

    expect(messageOf(() => bridgeIn(new Stack(app, 'Two', { env }), 'Bridge'))).toMatch(
      /busName: expected another/,
    );
  });

  it('may be equal in another region or stage', () => {
    const app = bareApp();
    bridgeIn(new Stack(app, 'Frankfurt', { env, stackName: 'Shop' }), 'Bridge');
    bridgeIn(new Stack(app, 'Dublin', { env: { ...env, region: 'eu-west-1' }, stackName: 'Shop' }), 'Bridge');
    for (const stage of ['Test', 'Prod']) bridgeIn(new Stack(new Stage(app, stage), 'Shop'), 'Bridge');
  });

  it('may include one bus that both are given', () => {
    const stack = new Stack(bareApp(), 'Shop');
    const { bus } = new AdvertBridge(stack, 'First', { partnerBaseUrl });

    const second = new AdvertBridge(stack, 'Second', { partnerBaseUrl, name: 'Second', bus });

    expect(second.bus).toBe(bus);
    expect(templateOf(stack).ofType('AWS::Events::EventBus')).toHaveLength(1);
  });
});
