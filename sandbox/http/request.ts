import type { IncomingHttpHeaders } from 'node:http';
import type { EndpointName } from '../state/faults.ts';
import type { AccessToken } from '../state/tokens.ts';

/** A request as the handlers see it. */
export interface ServiceRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly endpoint: EndpointName | null;
  /** The ID in the path of an advert, as sent. */
  readonly advertId: string | null;
  /** The token that was sent, if the service ever issued it. */
  readonly accessToken: AccessToken | undefined;
}

/** @returns the parameter's only value; undefined when it is missing, null when it was sent more than once */
export function single(query: URLSearchParams, name: string): string | undefined | null {
  const values = query.getAll(name);
  return values.length > 1 ? null : values[0];
}

/** @returns the object in a JSON body, or undefined if the body is not an object */
export function jsonObject(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return value as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

export function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}
