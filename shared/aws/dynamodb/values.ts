import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { ShapeError } from '../../contract/checks.ts';

/** An item as the SDK returns it. */
export type Item = Record<string, AttributeValue>;

/** Values that the bridge stores in its tables: JSON; `undefined` is left out. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain };

/**
 * Converts a JSON value to an attribute. The SDK's own converter (`@aws-sdk/util-dynamodb`) is not used, because its
 * support for sets, binaries and big numbers would enlarge the bundle.
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

/** Converts the fields of `value` to attributes; `undefined` fields are left out. */
export function toItem(value: Readonly<Record<string, unknown>>): Item {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => [name, toAttribute(field)]),
  );
}

/**
 * @param place name of the item for the message
 * @throws {ShapeError} for a set or a binary, which the bridge never writes
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

/** A numeric attribute of the item; 0 if it is absent. */
export const numberIn = (item: Item | undefined, name: string): number => Number(item?.[name]?.N ?? 0);
