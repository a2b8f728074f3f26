import type { AdvertEvent } from '../shared/contract/events.ts';
import { positionOf } from './position.ts';

export interface NewerConditionOptions<Marshalled extends boolean = boolean> {
  /** Name of the attribute that holds the generation in your item; default `advertGeneration`. */
  readonly generation?: string;
  /** Name of the attribute that holds the sequence; default `advertSequence`. */
  readonly sequence?: string;
  /** Values as the bare client wants them, `{ N: '7' }`; default false: as the document client does, `7`. */
  readonly marshalled?: Marshalled;
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
 * For `positions: 'own-write'`: the condition that lets your own write through only when the event is newer than your item.
 * What you keep of an advert and how far it has been applied are then one write: no crash can come between them, and no
 * second table is needed.
 *
 * The write fails with `ConditionalCheckFailedException` for what is stale or a duplicate: the event is done with then.
 */
export function newerCondition<const Marshalled extends boolean = false>(
  event: AdvertEvent,
  options: NewerConditionOptions<Marshalled> = {},
): NewerCondition<Marshalled extends true ? { N: string } : number> {
  const { generation = 'advertGeneration', sequence = 'advertSequence', marshalled } = options;
  const position = positionOf(event);
  const value = (number: number) =>
    (marshalled ? { N: String(number) } : number) as Marshalled extends true ? { N: string } : number;
  return {
    ConditionExpression:
      '(attribute_not_exists(#advertGeneration) OR #advertGeneration < :advertGeneration OR (#advertGeneration = :advertGeneration AND #advertSequence < :advertSequence))',
    setPosition: '#advertGeneration = :advertGeneration, #advertSequence = :advertSequence',
    ExpressionAttributeNames: { '#advertGeneration': generation, '#advertSequence': sequence },
    ExpressionAttributeValues: {
      ':advertGeneration': value(position.generation),
      ':advertSequence': value(position.sequence),
    },
  };
}
