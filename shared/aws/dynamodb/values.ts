import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { ShapeError } from '../../contract/checks.ts';

/** An item as the SDK gives it. */
export type Item = Record<string, AttributeValue>;

/** What the bridge keeps in its tables: JSON, of which `undefined` is left out. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain };

/**
 * A JSON value as an attribute. The SDK's own converter (`@aws-sdk/util-dynamodb`) is not used: it knows sets,
 * binaries and big numbers, and the bundle would carry all of it.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html
 */
export function toAttribute(value: unknown): AttributeValue {
  if (value === null) return { NULL: true };
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'boolean') return { BOOL: value };
  if (typeof value === 'number' && Number.isFinite(value)) return { N: String(value) };
  if (Array.isArray(value)) return { L: value.map(toAttribute) };
  if (typeof value === 'object') return { M: toItem(value as Readonly<Record<string, unknown>>) };
  throw new TypeError(`a ${typeof value} cannot be stored`);
}

/** The fields of `value` as attributes; those that are `undefined` are left out. */
export function toItem(value: Readonly<Record<string, unknown>>): Item {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => [name, toAttribute(field)]),
  );
}

/**
 * @param place what the item is, for the message
 * @throws {ShapeError} for a set or a binary: the bridge writes neither
 */
export function fromItem(item: Item, place: string): { [name: string]: Plain } {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, fromAttribute(value, place)]));
}

function fromAttribute(attribute: AttributeValue, place: string): Plain {
  if (attribute.S !== undefined) return attribute.S;
  if (attribute.N !== undefined) return Number(attribute.N);
  if (attribute.BOOL !== undefined) return attribute.BOOL;
  if (attribute.L !== undefined) return attribute.L.map((value) => fromAttribute(value, place));
  if (attribute.M !== undefined) return fromItem(attribute.M, place);
  if (attribute.NULL !== undefined) return null;
  throw new ShapeError(place, [{ path: '', expected: 'expected no set and no binary' }]);
}

/** A number of the item; 0 where there is none. */
export const numberIn = (item: Item | undefined, name: string): number => Number(item?.[name]?.N ?? 0);
