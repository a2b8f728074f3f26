import { createHmac } from 'node:crypto';
import type { Envelope } from '../../shared/contract/events.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { retryAfterMs } from '../../shared/partner-api/service-clock.ts';

/** Why an event did not arrive. */
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

/** From connecting until the last byte of the answer. */
const attemptTimeoutMs = 15_000;
/** Only the status of an answer matters: a longer answer is not read completely, and its connection is closed. */
const maxAnswerBytes = 16_384;

/**
 * Sends one event; never rejects. Redirects are not followed, because the operator decides where events are sent.
 *
 * @returns undefined when it has arrived
 */
export async function sendToWebhook(request: WebhookRequest): Promise<Failure | undefined> {
  const { url, headers, body, nowMs } = request;
  const timeout = AbortSignal.timeout(attemptTimeoutMs);
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'advert-bridge', ...headers },
      body,
      redirect: 'manual',
      signal: timeout,
    });
    await readToEnd(answer);
    return answer.ok ? undefined : failureOf(answer, nowMs);
  } catch (error) {
    const reason = timeout.aborted ? `no answer within ${attemptTimeoutMs / 1000} s` : reasonOf(error);
    return { reason, blames: 'subscriber' };
  }
}

/** Reads the answer to its end, so that the connection can be reused. */
async function readToEnd({ body }: Response): Promise<void> {
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) return;
  }
}

/** @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
function failureOf({ status, headers }: Response, nowMs: number): Failure {
  const [retryAfter, date] = ['retry-after', 'date'].map((name) => headers.get(name) ?? undefined);
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

const refuses = ': it refuses the signature. Check that it has the same secret';
const nobody = ': nothing takes events at this address. Check the address';
const meanings: Readonly<Record<number, string>> = {
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

/** With the error code of Node or OpenSSL, which `fetch` provides as the cause. */
function reasonOf(error: unknown): string {
  const cause = (error as { cause?: { code?: string; errors?: { code?: string }[] } }).cause;
  // A host name with several addresses fails with one error for each.
  const code =
    cause?.code ?? cause?.errors?.[0]?.code ?? (error instanceof Error ? error.name : typeof error);
  return `it cannot be reached (${code})`;
}

/**
 * An event in the structured mode of CloudEvents. `source` and `id` are the same for every copy of an event.
 *
 * @param envelope JSON of the whole event
 * @see https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
 */
export function cloudEventOf(envelope: string): string {
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
export function signedHeaders(secrets: readonly Secret[], id: string, body: string, nowMs: number) {
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
