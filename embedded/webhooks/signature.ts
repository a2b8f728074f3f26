/**
 * The signature that proves to a subscriber that the bridge sent the event to it.
 *
 * @see https://www.standardwebhooks.com
 */
import { createHmac } from 'node:crypto';
import { Secret } from '../../shared/domain/secret.ts';

const prefix = 'whsec_';
const minBytes = 24;
const maxBytes = 64;

/**
 * Normalizes a webhook's secret to its stored form: `whsec_` and 24 to 64 random bytes in Base64.
 *
 * @param given the secret, with or without the prefix
 * @returns undefined for anything else
 */
export function webhookSecret(given: Secret): Secret | undefined {
  const text = given.reveal().replace(new RegExp(`^${prefix}`), '');
  const key = Buffer.from(text, 'base64');
  // Buffer ignores characters that are not Base64, so its result is encoded again and compared with the input.
  const isBase64 = key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  if (!isBase64 || key.length < minBytes || key.length > maxBytes) return undefined;
  return new Secret(prefix + key.toString('base64'));
}

/**
 * The headers of one attempt to send an event.
 *
 * @param secrets as {@link webhookSecret} returns them; two while the subscriber changes its secret
 */
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
