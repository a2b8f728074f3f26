/** Generates the published JSON Schemas from the valibot schemas, with descriptions and examples. */

import { toJsonSchema } from '@valibot/to-json-schema';
import {
  anAdvertStatusChanged,
  anAdvertUnavailable,
  aPartnerAuthorizationRequired,
  aPartnerAuthorizationRestored,
} from '../../kits/typescript/testing/index.ts';
import { instant } from '../../shared/contract/checks.ts';
import { envelopes, parts } from '../../shared/contract/events.ts';
import { type DetailType, descriptions, partDescriptions, summaries } from './descriptions.ts';
export const eventDetailTypes = Object.keys(envelopes) as DetailType[];

/** Name of the schema for any event, in addition to one for each detail type. */
export const anyEvent = 'AdvertBridgeEvent';

/** The part of JSON Schema that the contract uses. */
export interface JsonSchema {
  $schema?: string;
  $id?: string;
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  title?: string;
  description?: string;
  examples?: unknown[];
  type?: string;
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  [keyword: string]: unknown;
}

export const examples: Record<DetailType, unknown[]> = {
  AdvertStatusChanged: [
    anAdvertStatusChanged({ status: 'new' }),
    anAdvertStatusChanged({ sequence: 2, status: 'active', previousStatus: 'new' }),
    anAdvertStatusChanged({ sequence: 5, status: 'active', previousStatus: null, cause: 'backfill' }),
  ],
  AdvertUnavailable: [anAdvertUnavailable({ sequence: 4, previousStatus: 'sold' })],
  PartnerAuthorizationRequired: [aPartnerAuthorizationRequired()],
  PartnerAuthorizationRestored: [aPartnerAuthorizationRestored()],
};

const dialect = 'https://json-schema.org/draft/2020-12/schema';
const idOf = (name: string) => `urn:advert-bridge:1:${name}`;
const refTo = (name: string): JsonSchema => ({ $ref: `#/$defs/${name}` });

/** The schema of one event. The objects inside it are in `$defs`, because generators name their types after these. */
export const schemaOf = (detailType: DetailType): JsonSchema => {
  const { $defs, ...event } = convert(detailType);
  return {
    $schema: dialect,
    $id: idOf(detailType),
    ...event,
    examples: examples[detailType],
    $defs: $defs ?? {},
  };
};

/** The schema of any event: exactly one of them, selected by the detail type. */
export function anyEventSchema(): JsonSchema {
  const events = eventDetailTypes.map((detailType) => [detailType, convert(detailType)] as const);
  const bare = events.map(([detailType, { $defs: _inner, ...event }]) => [detailType, event] as const);
  return {
    $schema: dialect,
    $id: idOf(anyEvent),
    title: anyEvent,
    description: 'Any event of the bridge. `detail-type` says which one.',
    oneOf: eventDetailTypes.map(refTo),
    discriminator: {
      propertyName: 'detail-type',
      mapping: Object.fromEntries(eventDetailTypes.map((detailType) => [detailType, refTo(detailType).$ref])),
    },
    examples: eventDetailTypes.map((detailType) => examples[detailType][0]),
    $defs: {
      ...Object.fromEntries(bare),
      ...Object.assign({}, ...events.map(([, { $defs }]) => $defs)),
    },
  };
}

/** @throws {Error} for a field without a description, because subscribers read nothing else */
function convert(detailType: DetailType): JsonSchema {
  const {
    $schema: _older,
    $defs = {},
    ...event
  } = toJsonSchema(envelopes[detailType], {
    target: 'draft-2020-12',
    typeMode: 'output',
    errorMode: 'throw',
    ignoreActions: ['check'],
    definitions: parts,
    overrideAction: ({ valibotAction, jsonSchema }) =>
      // Generators turn this format into a date type.
      valibotAction === instant.pipe[1] ? { ...jsonSchema, format: 'date-time' } : undefined,
  }) as JsonSchema;
  const used: Record<string, JsonSchema> = {};
  const root = described(event, '');
  return { title: detailType, description: summaries[detailType], ...root, $defs: used };

  function described(schema: JsonSchema, place: string): JsonSchema {
    const { properties, $ref } = schema;
    if ($ref) {
      const name = $ref.replace('#/$defs/', '');
      const description = partDescriptions[name];
      const inner = described($defs[name] as JsonSchema, place);
      used[name] = { title: name, ...(description && { description }), ...inner };
      return schema;
    }
    if (schema.const !== undefined) return { type: 'string', ...schema };
    if (!properties) return schema;
    const inner = Object.entries(properties).map(([name, property]) => {
      const at = place ? `${place}.${name}` : name;
      const description = descriptions[`${detailType}.${at}`] ?? descriptions[at];
      if (!description) throw new Error(`tools/contract/descriptions.ts says nothing of ${at}`);
      return [name, { description, ...described(property, at) }];
    });
    return { ...schema, properties: Object.fromEntries(inner) };
  }
}

/** The schema with each reference replaced by its target. */
export function dereferenced(schema: JsonSchema, $defs = schema.$defs ?? {}): JsonSchema {
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, $defs: _inner, ...rest } = value as JsonSchema;
    const target = $ref ? $defs[$ref.replace('#/$defs/', '')] : undefined;
    const own = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inline(inner)]));
    return target ? { ...(inline(target) as object), ...own } : own;
  };
  return inline(schema) as JsonSchema;
}
