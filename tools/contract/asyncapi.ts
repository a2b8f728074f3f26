/** The contract as one AsyncAPI 3.1 document: the bus, and every event on it. */
import { eventSource, schemaVersion } from '../../shared/contract/names.ts';
import { summaries } from './descriptions.ts';
import { eventDetailTypes, examples, type JsonSchema, schemaOf } from './schemas.ts';

const byDetailType = <T>(of: (detailType: (typeof eventDetailTypes)[number]) => T): Record<string, T> =>
  Object.fromEntries(eventDetailTypes.map((detailType) => [detailType, of(detailType)]));

/** Moves `$defs` references to the place where AsyncAPI keeps them. */
const inComponents = (schema: JsonSchema): JsonSchema =>
  JSON.parse(JSON.stringify(schema).replaceAll('#/$defs/', '#/components/schemas/'));

function schemas(): Record<string, JsonSchema> {
  const events: Record<string, JsonSchema> = {};
  const parts: Record<string, JsonSchema> = {};
  for (const detailType of eventDetailTypes) {
    const { $schema: _dialect, $id: _id, examples: _shownInMessages, $defs, ...event } = schemaOf(detailType);
    events[detailType] = event;
    Object.assign(parts, $defs);
  }
  return inComponents({ ...events, ...parts }) as Record<string, JsonSchema>;
}

/** @see https://www.asyncapi.com/docs/reference/specification/v3.1.0 */
export const asyncApiDocument = () => ({
  asyncapi: '3.1.0',
  info: {
    title: 'Advert Bridge',
    version: `${schemaVersion}.0`,
    description:
      'Status changes of adverts at the partner service. Events may arrive more than once and in any order: apply an event only when its (generation, sequence) is greater than the one you have for that advert. The contract changes only by additions.',
    license: { name: 'MIT' },
  },
  defaultContentType: 'application/json',
  servers: {
    eventBridge: {
      host: 'events.{region}.amazonaws.com',
      protocol: 'https',
      title: 'Amazon EventBridge',
      description:
        'Subscribers do not call this server: a rule on the bus sends events to a target, such as your own queue.',
      variables: { region: { description: 'AWS region of the bus.', default: 'eu-central-1' } },
    },
  },
  channels: {
    adverts: {
      address: '{busName}',
      title: 'The event bus',
      description: `An Amazon EventBridge bus. Subscribe with a rule on source \`${eventSource}\` and the detail types that you want.`,
      servers: [{ $ref: '#/servers/eventBridge' }],
      parameters: { busName: { description: 'Output `EventBusName` of the stack.', default: 'adverts' } },
      messages: byDetailType((detailType) => ({ $ref: `#/components/messages/${detailType}` })),
    },
  },
  operations: {
    publish: {
      action: 'send',
      summary: 'The bridge publishes, and subscribers receive.',
      channel: { $ref: '#/channels/adverts' },
      messages: eventDetailTypes.map((detailType) => ({ $ref: `#/channels/adverts/messages/${detailType}` })),
    },
  },
  components: {
    messages: byDetailType((detailType) => ({
      name: detailType,
      title: detailType,
      summary: summaries[detailType],
      ...(hasCorrelationId(detailType) && { correlationId: { $ref: '#/components/correlationIds/page' } }),
      payload: { $ref: `#/components/schemas/${detailType}` },
      examples: examples[detailType].map((payload) => ({ payload })),
    })),
    correlationIds: {
      page: {
        description:
          'ID of the page of the feed: the same in all events and log lines that result from one page.',
        location: '$message.payload#/detail/metadata/correlationId',
      },
    },
    schemas: schemas(),
  },
});

/** Events of a partner account have none, because they do not come from a page of the feed. */
const hasCorrelationId = (detailType: (typeof eventDetailTypes)[number]): boolean =>
  Object.values(schemaOf(detailType).$defs ?? {}).some(({ properties }) => properties?.correlationId);
