import * as v from 'valibot';
import { checkedJson, form, instant } from '../contract/checks.ts';
import { generation } from '../contract/events.ts';
import { toInstant } from './clock.ts';

/** Prints as `[redacted]` everywhere. Call {@link Secret.reveal} only where the value is put into a request. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** Compares two secrets without revealing them. */
  equals(other: Secret): boolean {
    return this.#value === other.#value;
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return redacted;
  }
}

export const redacted = '[redacted]';

const secretOf = v.transform((text: string) => new Secret(text));
const filled = v.pipe(v.string(), v.trim(), v.minLength(1, 'expected a non-empty string'));

/** `<prefix>/partner-accounts/<name>`: the newest pair that the service returned. */
const storedPair = v.object({
  form,
  accessToken: v.pipe(filled, secretOf),
  /** Kept exactly as the service gave it, including spaces. */
  refreshToken: v.pipe(
    v.string(),
    v.check((text) => text.trim() !== '', 'expected a non-empty string'),
    secretOf,
  ),
  /** As granted, space separated. */
  scope: v.string(),
  /** Milliseconds since 1970 by the bridge's clock: the arrival of the answer minus the round trip, plus the lifetime. */
  expiresAt: v.pipe(instant, v.transform(Date.parse)),
  obtainedAt: v.pipe(instant, v.transform(Date.parse)),
  /** Generation of the partner account for which it was requested. */
  generation,
  /** The version that it replaces; absent for the first pair of a generation. */
  follows: v.exactOptional(filled),
});
/** A pair with where it comes from, so that nobody takes it for the pair of another user or time. */
export type StoredPair = Readonly<v.InferOutput<typeof storedPair>>;
/** As the service returned it. */
export type TokenPair = Omit<StoredPair, 'form' | 'generation' | 'follows'>;

export const textOfPair = (pair: StoredPair): string =>
  JSON.stringify({
    ...pair,
    accessToken: pair.accessToken.reveal(),
    refreshToken: pair.refreshToken.reveal(),
    expiresAt: toInstant(pair.expiresAt),
    obtainedAt: toInstant(pair.obtainedAt),
  });

/** @throws {ShapeError} naming the secret and the fault */
export const pairOfText = (text: string, secretName: string): StoredPair =>
  checkedJson(storedPair, text, `secret ${secretName}`, 'malformed-pair');

/** `<prefix>/application`: the credentials that identify the bridge to the partner service. */
const application = v.object({
  form,
  clientId: v.pipe(filled, secretOf),
  clientSecret: v.pipe(filled, secretOf),
});
export type Application = Readonly<v.InferOutput<typeof application>>;

export const textOfApplication = ({ clientId, clientSecret }: Application): string =>
  JSON.stringify({ clientId: clientId.reveal(), clientSecret: clientSecret.reveal() });

/** @throws {ShapeError} also for the empty text of a secret that is not filled in yet */
export const applicationOfText = (text: string, secretName: string): Application =>
  checkedJson(application, text, `secret ${secretName}`, 'malformed-application');
