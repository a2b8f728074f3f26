/** The published JSON Schemas: made from the valibot schemas, with descriptions and examples. */

import { toJsonSchema } from '@valibot/to-json-schema';
import { envelopes } from '../../shared/contract/events.ts';
import { detailTypes } from '../../shared/contract/names.ts';
import {
  anAdvertStatusChanged,
  anAdvertUnavailable,
  aPartnerAuthorizationRequired,
  aPartnerAuthorizationRestored,
} from '../../subscriber/testing/index.ts';
import { descriptions, summaries } from './descriptions.ts';
import type { EventDetailType } from './detail-types.ts';

export const eventDetailTypes = Object.values(detailTypes);

/** As much of JSON Schema as the contract uses. */
export interface JsonSchema {
  $schema?: string;
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

export const examples: Record<EventDetailType, unknown[]> = {
  AdvertStatusChanged: [
    anAdvertStatusChanged({ status: 'new' }),
    anAdvertStatusChanged({ sequence: 2, status: 'active', previousStatus: 'new' }),
    anAdvertStatusChanged({ sequence: 5, status: 'active', previousStatus: null, cause: 'backfill' }),
  ],
  AdvertUnavailable: [anAdvertUnavailable({ sequence: 4, previousStatus: 'sold' })],
  PartnerAuthorizationRequired: [aPartnerAuthorizationRequired()],
  PartnerAuthorizationRestored: [aPartnerAuthorizationRestored()],
};

/** @throws {Error} for a field without a description: subscribers read nothing else */
export function schemaOf(detailType: EventDetailType): JsonSchema {
  const { $schema, ...rest } = toJsonSchema(envelopes[detailType], {
    typeMode: 'output',
    errorMode: 'throw',
    ignoreActions: ['check'],
  });
  return {
    $schema: $schema as string,
    title: detailType,
    description: summaries[detailType],
    ...described(rest as JsonSchema, ''),
    examples: examples[detailType],
  };
}

function described(schema: JsonSchema, place: string): JsonSchema {
  const { properties } = schema;
  if (!properties) return schema;
  const inner = Object.entries(properties).map(([name, property]) => {
    const at = place ? `${place}.${name}` : name;
    const description = descriptions[at];
    if (!description) throw new Error(`scripts/contract/descriptions.ts says nothing of ${at}`);
    return [name, { description, ...described(property, at) }];
  });
  return { ...schema, properties: Object.fromEntries(inner) };
}
