import { endpointNames, type Fault, faultKinds } from '../state/faults.ts';

/** The fields of a request to the control interface. */
export class Input {
  readonly #fields: Record<string, unknown>;

  /** @throws {RangeError} for an unknown field, which is most likely a typing error */
  constructor(fields: Record<string, unknown>, known: readonly string[]) {
    const stray = Object.keys(fields).find((name) => !known.includes(name));
    if (stray !== undefined) throw new RangeError(`there is no field named ${stray}`);
    this.#fields = fields;
  }

  /** @throws {RangeError} when it is given and not a string */
  text(name: string): string | undefined {
    const value = this.any(name);
    if (value !== undefined && typeof value !== 'string') throw new RangeError(`${name} is not a string`);
    return value;
  }

  /** @throws {RangeError} when it is given and not a whole number from 0 to 10 million */
  count(name: string): number | undefined {
    const value = this.number(name);
    if (value !== undefined && !(Number.isInteger(value) && value >= 0 && value <= 10_000_000)) {
      throw new RangeError(`${name} is not a whole number from 0 to 10000000`);
    }
    return value;
  }

  /** @throws {RangeError} when it is given and not a finite number */
  number(name: string): number | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new RangeError(`${name} is not a number`);
    return value;
  }

  flag(name: string): boolean | undefined {
    const value = this.any(name);
    if (value !== undefined && typeof value !== 'boolean')
      throw new RangeError(`${name} is not true or false`);
    return value;
  }

  any(name: string): unknown {
    return this.#fields[name];
  }
}

/** @throws {RangeError} when it is missing */
export function required<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new RangeError(`${name} is required`);
  return value;
}

/** Reads a number from the query. @throws {RangeError} when it is given and not a whole number */
export function queryCount(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new RangeError(`${name} is not a whole number`);
  return Number(text);
}

/** Removes undefined fields, so that defaults apply. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** The possible fields of a fault. */
export const faultFields = [
  'kind',
  'status',
  'headers',
  'body',
  'bytes',
  'delayMs',
  'endpoint',
  'user',
  'advertId',
  'hasCursor',
  'nth',
  'count',
  'probability',
];

/** Reads a fault to inject. @throws {RangeError} naming the invalid field */
export function readFault(input: Input): Fault {
  const kind = oneOf('kind', faultKinds, required('kind', input.text('kind')));
  const endpoint = input.text('endpoint');
  const headers = input.any('headers');
  const status = input.count('status');
  if (status !== undefined && (status < 200 || status > 599))
    throw new RangeError('status is not 200 to 599');
  if (headers !== undefined && !isHeaders(headers))
    throw new RangeError('headers are not an object of strings');
  if (kind === 'status') required('status', status);
  const delayMs = input.count('delayMs');
  if (kind === 'delay') required('delayMs', delayMs);
  return defined({
    kind,
    status,
    headers,
    body: input.any('body'),
    bytes: input.count('bytes'),
    delayMs,
    endpoint: endpoint === undefined ? undefined : oneOf('endpoint', endpointNames, endpoint),
    user: input.text('user'),
    advertId: input.text('advertId'),
    hasCursor: input.flag('hasCursor'),
    nth: input.count('nth'),
    count: input.count('count'),
    probability: input.number('probability'),
  }) as Fault;
}

function oneOf<T extends string>(name: string, allowed: readonly T[], value: string): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw new RangeError(`${name} is none of ${allowed.join(', ')}`);
  return found;
}

function isHeaders(value: unknown): value is Record<string, string> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((one) => typeof one === 'string')
  );
}
