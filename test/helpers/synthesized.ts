import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
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

/** An app as `cdk synth -c …` sees it, without the bundling, which `npm run synth` does. */
export const appWith = (settings: Readonly<Record<string, unknown>>): App =>
  new App({ analyticsReporting: false, context: { ...context, 'aws:cdk:bundling-stacks': [], ...settings } });

export function synthesized(settings: Readonly<Record<string, unknown>> = {}) {
  const app = appWith({ partnerBaseUrl: 'https://partner.example', ...settings });
  const stack = new AdvertBridgeStack(app, readSettings(app.node));
  const template = Template.fromStack(stack);
  const resources = template.toJSON().Resources as Readonly<Record<string, Resource>>;
  const ofType = (type: string) => Object.entries(resources).filter(([, { Type }]) => Type === type);
  /** The only resource of a type whose logical ID begins so. */
  function one(type: string, prefix = ''): Resource & { readonly id: string } {
    const found = ofType(type).filter(([id]) => id.startsWith(prefix));
    if (found.length !== 1 || !found[0]) throw new Error(`${found.length} resources ${type} ${prefix}`);
    return { id: found[0][0], ...found[0][1] };
  }
  return { app, stack, template, resources, ofType, one };
}

export type Synthesized = ReturnType<typeof synthesized>;

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
  if (Array.isArray(joined)) return (inShort(joined[1]) as string[]).join(joined[0]);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inShort(inner)]));
}

const withoutHash = (id: string): string => id.replace(/[0-9A-F]{8}$/, '');
