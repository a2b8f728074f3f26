import type { AdvertEvent } from '../shared/contract/events.ts';
import { positionOf } from './position.ts';

/** Names of the attributes that hold the position, in your item. */
export interface PositionAttributes {
  /** Default `advertGeneration`. */
  readonly generation?: string;
  /** Default `advertSequence`. */
  readonly sequence?: string;
}

export interface NewerCondition<Value> {
  /** Holds for an item that is not there, and for one whose position is less than the event's. */
  readonly ConditionExpression: string;
  /** For an `UpdateExpression`: `SET <this>, <what else you set>`. */
  readonly setPosition: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: Record<string, Value>;
}

/**
 * The stale guard inside your own table: what you keep of an advert and how far it has been applied are then one
 * write, so that no crash can come between them, and no second table is needed. For the document client.
 *
 * The write fails with `ConditionalCheckFailedException` for what is stale or a duplicate: that is done, not a fault.
 */
export function onlyIfNewer(event: AdvertEvent, attributes: PositionAttributes = {}): NewerCondition<number> {
  const { generation, sequence } = positionOf(event);
  return conditionOf(attributes, generation, sequence);
}

/** The same for the bare client, whose values are written `{ N: '7' }`. */
export function onlyIfNewerItem(
  event: AdvertEvent,
  attributes: PositionAttributes = {},
): NewerCondition<{ N: string }> {
  const { generation, sequence } = positionOf(event);
  return conditionOf(attributes, { N: String(generation) }, { N: String(sequence) });
}

const conditionOf = <Value>(
  {
    generation: generationName = 'advertGeneration',
    sequence: sequenceName = 'advertSequence',
  }: PositionAttributes,
  generation: Value,
  sequence: Value,
): NewerCondition<Value> => ({
  ConditionExpression:
    '(attribute_not_exists(#advertGeneration) OR #advertGeneration < :advertGeneration OR (#advertGeneration = :advertGeneration AND #advertSequence < :advertSequence))',
  setPosition: '#advertGeneration = :advertGeneration, #advertSequence = :advertSequence',
  ExpressionAttributeNames: { '#advertGeneration': generationName, '#advertSequence': sequenceName },
  ExpressionAttributeValues: { ':advertGeneration': generation, ':advertSequence': sequence },
});
