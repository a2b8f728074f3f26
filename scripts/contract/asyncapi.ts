/** The contract as one AsyncAPI 3 document: the bus, and every event on it. */
import { eventSource, schemaVersion } from '../../shared/contract/names.ts';
import { summaries } from './descriptions.ts';
import { eventDetailTypes, examples, schemaOf } from './schemas.ts';

const byDetailType = <T>(of: (detailType: (typeof eventDetailTypes)[number]) => T): Record<string, T> =>
  Object.fromEntries(eventDetailTypes.map((detailType) => [detailType, of(detailType)]));

/** @see https://www.asyncapi.com/docs/reference/specification/v3.0.0 */
export const asyncApiDocument = () => ({
  asyncapi: '3.0.0',
  info: {
    title: 'Advert Bridge',
    version: `${schemaVersion}.0`,
    description:
      'What became of adverts at the partner service. Delivery is at least once and in no order: apply an event only when its (generation, sequence) is greater than the one you have for that advert. Changed by addition only.',
    license: { name: 'MIT' },
  },
  defaultContentType: 'application/json',
  channels: {
    adverts: {
      address: '{busName}',
      title: 'The event bus',
      description: `An Amazon EventBridge bus. Subscribe with a rule on source \`${eventSource}\` and the detail types that you want.`,
      parameters: { busName: { description: 'Output `EventBusName` of the stack.', default: 'adverts' } },
      messages: byDetailType((detailType) => ({ $ref: `#/components/messages/${detailType}` })),
    },
  },
  operations: {
    publish: {
      action: 'send',
      summary: 'The bridge publishes; subscribers receive.',
      channel: { $ref: '#/channels/adverts' },
      messages: eventDetailTypes.map((detailType) => ({ $ref: `#/channels/adverts/messages/${detailType}` })),
    },
  },
  components: {
    messages: byDetailType((detailType) => ({
      name: detailType,
      title: detailType,
      summary: summaries[detailType],
      payload: { $ref: `#/components/schemas/${detailType}` },
      examples: examples[detailType].map((payload) => ({ payload })),
    })),
    schemas: byDetailType((detailType) => {
      const { $schema: _dialect, examples: _shownAbove, ...schema } = schemaOf(detailType);
      return schema;
    }),
  },
});
