import type { IncomingHttpHeaders } from 'node:http';
import { invalid } from '../state/answer.ts';
import { isRecord } from '../state/settings.ts';

export interface ServiceRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The ID in the path of an advert, as sent. */
  readonly advertId: string | null;
  /** As sent; empty: none. */
  readonly accessToken: string;
}

/** The value of a query parameter. @throws {RefusedError} when it was sent more than once (assumed) */
export function parameter({ query }: ServiceRequest, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw invalid(name, `The parameter ${name} was sent more than once.`);
  return values[0];
}

/** @returns the object in a JSON body, or undefined if the body is not an object */
export function jsonObject(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The fields of a request whose body is JSON and says so; undefined for any other. */
export function jsonFields({ headers, body }: ServiceRequest): Record<string, unknown> | undefined {
  const isJson = /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
  return isJson ? jsonObject(body) : undefined;
}
