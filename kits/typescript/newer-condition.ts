import * as v from 'valibot';
import type { AdvertEvent } from '../../shared/contract/events.ts';
import { checkOptions, requiredText } from './options.ts';
import { type Position, positionOf } from './position.ts';

export interface NewerConditionOptions<Marshalled extends boolean = boolean> {
  /** Name of the attribute in your item that contains the generation; default `advertGeneration`. */
  readonly generation?: string;
  /** Name of the attribute that contains the sequence; default `advertSequence`. */
  readonly sequence?: string;
  /**
   * `true`: values as `{ N: '7' }`, for the low-level client. Default `false`: values as `7`, for the document client.
   */
  readonly marshalled?: Marshalled;
}

export interface NewerCondition<Value> {
  /** True if the item does not exist, or if its position is less than the event's. */
  readonly ConditionExpression: string;
  /** For an `UpdateExpression`: `SET <setPosition>, <your other attributes>`. */
  readonly setPosition: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: Record<string, Value>;
}

/**
 * For `positions: 'own-write'`: a condition that allows your own write only if the event is newer than your item. One
 * write then stores both your data and the position, so no crash can happen between them, and you need no second table.
 *
 * For a stale event or a duplicate, the write fails with `ConditionalCheckFailedException`: treat the event as done.
 *
 * @throws {TypeError} for wrong options
 */
export function newerCondition<const Marshalled extends boolean = false>(
  event: AdvertEvent,
  options: NewerConditionOptions<Marshalled> = {},
): NewerCondition<Marshalled extends true ? { N: string } : number> {
  checkOptions('newerCondition', options, {
    generation: v.optional(requiredText('the name of an attribute')),
    sequence: v.optional(requiredText('the name of an attribute')),
    marshalled: v.optional(v.boolean('expected true or false')),
  });
  return newerThan(positionOf(event), options);
}

export function newerThan<const Marshalled extends boolean = false>(
  position: Position,
  {
    generation = 'advertGeneration',
    sequence = 'advertSequence',
    marshalled,
  }: NewerConditionOptions<Marshalled>,
): NewerCondition<Marshalled extends true ? { N: string } : number> {
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
