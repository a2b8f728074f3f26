import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stack, Token } from 'aws-cdk-lib';
import { CfnRegistry, CfnSchema } from 'aws-cdk-lib/aws-eventschemas';
import { Construct } from 'constructs';
import { detailTypes, eventSource } from '../../shared/contract/names.ts';
import { packageRoot } from './package-files.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

const published = join(packageRoot, 'docs/schemas');

/**
 * CloudFormation refuses a whole template for a resource type that its region does not have. From cfn-lint 1.58, which
 * `npm run synth` asks again; a registry that is left out in a region that has one by now does no harm.
 *
 * @see https://docs.aws.amazon.com/general/latest/gr/eventbridgeschemas.html
 */
export const regionsWithoutRegistry = [
  ...['ap-east-2', 'ap-south-2', 'ap-southeast-4', 'ap-southeast-5', 'ap-southeast-6', 'ap-southeast-7'],
  ...['ca-west-1', 'il-central-1', 'mx-central-1'],
];

/** The published schemas in an EventBridge schema registry, where consoles and IDEs find them and generate types. */
export function schemaRegistry(
  parent: Construct,
  id: string,
  { namePrefix: registryName, schemaRegistry: isWanted }: BridgeConfig,
): void {
  const { region } = Stack.of(parent);
  // The command line of the CDK deploys a stack that names no region to this one.
  const { CDK_DEFAULT_REGION = region } = process.env;
  const known = Token.isUnresolved(region) ? CDK_DEFAULT_REGION : region;
  if (!isWanted || regionsWithoutRegistry.includes(known)) return;
  const scope = new Construct(parent, id);
  const registry = new CfnRegistry(scope, 'Registry', {
    registryName,
    description: 'Events of the advert bridge',
  });
  for (const detailType of Object.values(detailTypes)) {
    const schema = JSON.parse(readFileSync(join(published, `${detailType}.schema.json`), 'utf8'));
    new CfnSchema(scope, detailType, {
      registryName: registry.attrRegistryName,
      // The same form as the names of schemas that EventBridge discovers.
      schemaName: `${eventSource}@${detailType}`,
      description: schema.description,
      type: 'JSONSchemaDraft4',
      content: JSON.stringify(inDraft4(schema)),
    });
  }
}

/**
 * A schema in the registry's dialect, which does not support `const`, `examples`, `$id` and `$defs`.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-schema-create.html
 */
function inDraft4(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(inDraft4);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]) => {
      if (keyword === '$schema') return [[keyword, 'http://json-schema.org/draft-04/schema#']];
      if (keyword === 'const') return [['enum', [value]]];
      if (keyword === '$defs') return [['definitions', inDraft4(value)]];
      if (keyword === '$ref') return [[keyword, String(value).replace('#/$defs/', '#/definitions/')]];
      return keyword === 'examples' || keyword === '$id' ? [] : [[keyword, inDraft4(value)]];
    }),
  );
}
