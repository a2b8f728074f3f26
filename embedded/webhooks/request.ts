import { createHmac } from 'node:crypto';
import type { Envelope } from '../../shared/contract/events.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { retryAfterMs } from '../../shared/partner-api/service-clock.ts';
import {
  type Answer,
  createTransport,
  NoAnswerError,
  type Transport,
} from '../../shared/partner-api/transport.ts';
import type { Webhooks } from '../state/webhooks.ts';

/** Sends one event; never rejects. @returns undefined when it has arrived; `forgotten`: its reader is no more */
export type Deliver = (envelope: string) => Promise<Failure | 'forgotten' | undefined>;

interface Signing {
  readonly webhooks: Pick<Webhooks, 'signing'>;
  readonly clock: { now(): number };
  readonly send: typeof sendToWebhook;
}

export const deliverTo =
  (url: string, { webhooks, clock, send }: Signing): Deliver =>
  async (envelope) => {
    // Read for each attempt, so that a new secret or format takes effect without a restart.
    const signing = webhooks.signing(url);
    if (!signing) return 'forgotten';
    const { secrets, format } = signing;
    const body = format === 'cloudevents' ? cloudEventOf(envelope) : envelope;
    const { eventId } = JSON.parse(envelope).detail.metadata;
    const headers = {
      ...signedHeaders(secrets, eventId, body, clock.now()),
      ...(format === 'cloudevents' && { 'content-type': 'application/cloudevents+json; charset=utf-8' }),
    };
    return send({ url, headers, body, nowMs: clock.now() });
  };

export interface Failure {
  /** In words, without any text from the subscriber. */
  readonly reason: string;
  /** `subscriber`: any other event would fail too; `gone`: it wants no more events. */
  readonly blames: 'event' | 'subscriber' | 'gone';
  readonly retryAfterMs?: number | undefined;
}

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly nowMs: number;
}

/** An attempt may take this long, from connecting until the last byte of the answer. */
const attemptTimeoutMs = 15_000;
/** Only the status of an answer matters: a longer answer is not read completely, and its connection is closed. */
const maxAnswerBytes = 16_384;
/** Connections for all webhooks at one origin together. */
const maxConnections = 16;

/**
 * Sends one event; never rejects. Redirects are not followed, because the operator decides where events are sent.
 *
 * @returns undefined when it has arrived
 */
export async function sendToWebhook(request: WebhookRequest): Promise<Failure | undefined> {
  const { url, headers, body, nowMs } = request;
  const { host, origin, pathname, search } = new URL(url);
  const length = String(Buffer.byteLength(body));
  const own = {
    host,
    'content-type': 'application/json',
    'content-length': length,
    'user-agent': 'advert-bridge',
  };
  const wire = {
    path: pathname + search,
    body,
    method: 'POST' as const,
    headers: Object.entries({ ...own, ...headers }).flat(),
  };
  try {
    const send = () => transportTo(origin, nowMs).send(wire, attemptTimeoutMs);
    // A subscriber may close an idle connection at any time, and may receive an event twice.
    const answer = await send().catch((error) => {
      if (error instanceof NoAnswerError && error.wasStale) return send();
      throw error;
    });
    return answer.status >= 200 && answer.status < 300 ? undefined : failureOf(answer, nowMs);
  } catch (error) {
    return { reason: reasonOf(error), blames: 'subscriber' };
  }
}

const transports = new Map<string, { readonly transport: Transport; readonly sinceMs: number }>();
/** After this time its name is looked up again: a subscriber may have moved, and its old server may still answer. */
const transportMs = 60_000;

/** Its connections are kept for the next event. */
function transportTo(origin: string, nowMs: number): Transport {
  const kept = transports.get(origin);
  if (kept && Math.abs(nowMs - kept.sinceMs) < transportMs) return kept.transport;
  // Its last attempts may still be under way.
  if (kept) setTimeout(kept.transport.close, 2 * attemptTimeoutMs).unref();
  const transport = createTransport({
    origin: new URL(origin),
    concurrency: maxConnections,
    maxAnswerBytes,
    mayRepeatPost: true,
  });
  transports.set(origin, { transport, sinceMs: nowMs });
  return transport;
}

/** @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
function failureOf({ status, head }: Answer, nowMs: number): Failure {
  const { 'retry-after': retryAfter, date } = head.headers;
  return {
    reason: `it answered ${status}${meaningOf(status)}`,
    blames: blamed(status),
    retryAfterMs: retryAfterMs(retryAfter, date, nowMs),
  };
}

/** A wrong address or secret affects all events; any other 4xx is about this event. */
function blamed(status: number): Failure['blames'] {
  if (status === 410) return 'gone';
  return status >= 500 || status < 400 || blamesSubscriber.has(status) ? 'subscriber' : 'event';
}

const blamesSubscriber = new Set([401, 403, 404, 405, 408, 429]);

const checks = 'Check that it has the same secret, and that both clocks are right';
const refuses = `: it refuses the signature. ${checks}`;
const nobody = ': nothing takes events at this address. Check the address';
const meanings: Readonly<Record<number, string>> = {
  400: `: it may refuse the signature. ${checks}`,
  401: refuses,
  403: refuses,
  404: nobody,
  405: nobody,
  410: ' (gone): it wants no more events',
  413: ': the event is too large for it',
  429: ': it asks for fewer events',
};

const meaningOf = (status: number): string =>
  status >= 300 && status < 400
    ? ': redirects are not followed. Give the address that it points to as --webhook'
    : (meanings[status] ?? '');

/** The reason in words, with the error code of Node or OpenSSL. */
function reasonOf(error: unknown): string {
  if (!(error instanceof NoAnswerError)) return error instanceof Error ? error.message : typeof error;
  if (error.code === 'timeout') return `no answer within ${attemptTimeoutMs / 1000} s`;
  const code = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  return `it cannot be reached: ${error.message}${code ? ` (${code})` : ''}`;
}

/**
 * An event in the structured mode of CloudEvents. `source` and `id` are the same for every copy of an event.
 *
 * @param envelope JSON of the whole event
 * @see https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
 */
function cloudEventOf(envelope: string): string {
  const { source, 'detail-type': type, detail } = JSON.parse(envelope) as Envelope;
  const { eventId, partnerAccount, observedAt } = detail.metadata;
  return JSON.stringify({
    specversion: '1.0',
    id: eventId,
    source: `${source}/${partnerAccount}`,
    type,
    ...('advertId' in detail.data && { subject: `advert/${detail.data.advertId}` }),
    time: observedAt,
    datacontenttype: 'application/json',
    data: detail,
  });
}

const prefix = 'whsec_';
const minBytes = 24;
const maxBytes = 64;

/** The stored form, `whsec_` and 24 to 64 random bytes in Base64, of a secret with or without prefix; else undefined. */
export function webhookSecret(given: Secret): Secret | undefined {
  const text = given.reveal().replace(new RegExp(`^${prefix}`), '');
  const key = Buffer.from(text, 'base64');
  // Buffer ignores characters that are not Base64, so its result is encoded again and compared with the input.
  const isBase64 = key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  if (!isBase64 || key.length < minBytes || key.length > maxBytes) return undefined;
  return new Secret(prefix + key.toString('base64'));
}

/** The headers of one attempt. @param secrets stored forms; two while the subscriber changes its secret */
function signedHeaders(secrets: readonly Secret[], id: string, body: string, nowMs: number) {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.reveal().slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
