import type { IncomingHttpHeaders } from 'node:http';
import { invalid } from '../state/answer.ts';
import type { EndpointName } from '../state/faults.ts';
import type { AccessToken } from '../state/tokens.ts';

/** A request as the handlers see it. */
export interface ServiceRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Undefined: longer than the service reads. */
  readonly body: string | undefined;
  readonly endpoint: EndpointName | null;
  /** The ID in the path of an advert, as sent. */
  readonly advertId: string | null;
  /** The token that was sent, if the service ever issued it. */
  readonly accessToken: AccessToken | undefined;
  /** The supported methods of the path; none for an unknown path. */
  readonly methods: readonly string[];
}

/** The value of a query parameter. @throws {RefusedError} when it was sent more than once */
export function parameter({ query }: ServiceRequest, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw invalid(name, 'was sent more than once');
  return values[0];
}

/** @returns the object in a JSON body, or undefined if the body is not an object */
export function jsonObject(body = ''): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The fields of a request whose body is JSON and says so; undefined for any other. */
export function jsonFields({ headers, body }: ServiceRequest): Record<string, unknown> | undefined {
  const isJson = /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
  return isJson ? jsonObject(body) : undefined;
}
