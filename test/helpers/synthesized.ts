import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AdvertBridge, type AdvertBridgeProps } from '../../infra/cdk.ts';
import { readSettings } from '../../infra/config.ts';
import { AdvertBridgeStack } from '../../infra/stack.ts';

export const repository = join(import.meta.dirname, '../..');
const { context } = JSON.parse(readFileSync(join(repository, 'cdk.json'), 'utf8'));

export interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: CloudFormation's own shape, asserted on below.
  readonly Properties: any;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

export const partnerBaseUrl = 'https://partner.example';
export const env = { account: '111122223333', region: 'eu-central-1' };

/** An app without bundling, which `npm run synth` does; of another team, unless it has the context of our cdk.json. */
const appOf = (given: object): App =>
  new App({ analyticsReporting: false, context: { 'aws:cdk:bundling-stacks': [], ...given } });
export const bareApp = (): App => appOf({});
/** As `cdk synth -c …` sees it. */
export const appWith = (settings: Readonly<Record<string, unknown>>): App =>
  appOf({ ...context, ...settings });

export function templateOf(stack: Stack) {
  const template = Template.fromStack(stack).toJSON();
  const resources = template.Resources as Readonly<Record<string, Resource>>;
  const ofType = (type: string) => Object.entries(resources).filter(([, { Type }]) => Type === type);
  /** The only resource of a type whose logical ID begins so. */
  function one(type: string, prefix = ''): Resource & { readonly id: string } {
    const found = ofType(type).filter(([id]) => id.startsWith(prefix));
    if (found.length !== 1 || !found[0]) throw new Error(`${found.length} resources ${type} ${prefix}`);
    return { id: found[0][0], ...found[0][1] };
  }
  return { stack, template, resources, ofType, one };
}

export type Synthesized = ReturnType<typeof templateOf>;

/** Our own stack. */
export function synthesized(settings: Readonly<Record<string, unknown>> = {}): Synthesized {
  const app = appWith({ partnerBaseUrl, ...settings });
  return templateOf(new AdvertBridgeStack(app, readSettings(app.node)));
}

/** One bridge in a stack of another team. */
export function bridgeWith(props: (stack: Stack) => Partial<AdvertBridgeProps> = () => ({})) {
  const stack = new Stack(bareApp(), 'Shop');
  const bridge = new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, ...props(stack) });
  return { bridge, ...templateOf(stack) };
}

/** What `make` is refused for; empty when it is not. */
export function faultsOf(make: () => unknown): readonly string[] {
  try {
    make();
    return [];
  } catch (error) {
    const { faults } = error as { readonly faults?: readonly string[] };
    if (faults) return faults;
    throw error;
  }
}

/** Where the functions are in the construct tree. */
export const functions = {
  drain: 'Drain',
  fanOut: 'FanOut',
  refreshToken: 'RefreshToken',
  connect: 'Connect',
} as const;

/** A value of the template in short: `${LogicalId}` and `${LogicalId.Attribute}`, without CDK's hashes. */
export function inShort(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inShort);
  if (typeof value !== 'object' || value === null) return value;
  const { Ref: reference, 'Fn::GetAtt': attribute, 'Fn::Join': joined } = value as Record<string, unknown>;
  if (typeof reference === 'string') return `\${${withoutHash(reference)}}`;
  if (Array.isArray(attribute)) return `\${${withoutHash(attribute[0])}.${attribute[1]}}`;
  const asText = (part: unknown) => (typeof part === 'string' ? part : JSON.stringify(part));
  if (Array.isArray(joined)) return (inShort(joined[1]) as unknown[]).map(asText).join(joined[0]);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inShort(inner)]));
}

const withoutHash = (id: string): string => id.replace(/[0-9A-F]{8}$/, '');
