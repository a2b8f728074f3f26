import { checkedJson } from '../contract/checks.ts';
import { applicationSecret, type PartnerAccountSecret, partnerAccountSecret } from '../contract/rows.ts';
import { toInstant } from './clock.ts';

/**
 * Wraps a secret string, so that it prints as `[redacted]` in logs, errors, JSON, template strings and `util.inspect`.
 * Only {@link Secret.reveal} returns the value; call it where the value is put into a request.
 */
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

  [Symbol.toPrimitive](): string {
    return redacted;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return redacted;
  }
}

export const redacted = '[redacted]';

/** As the service returned it. */
export interface TokenPair {
  readonly accessToken: Secret;
  readonly refreshToken: Secret;
  /** As granted, space separated. */
  readonly scope: string;
  /** Milliseconds since 1970, by the bridge's clock. */
  readonly expiresAt: number;
  readonly obtainedAt: number;
}

/** A pair with where it comes from, so that nobody takes it for the pair of another user or time. */
export interface StoredPair extends TokenPair {
  /** Generation of the partner account for which it was requested. */
  readonly generation: number;
  /** The version that it replaces; absent for the first pair of a generation. */
  readonly follows?: string;
}

export function textOfPair(pair: StoredPair): string {
  const stored: PartnerAccountSecret = {
    accessToken: pair.accessToken.reveal(),
    refreshToken: pair.refreshToken.reveal(),
    scope: pair.scope,
    expiresAt: toInstant(pair.expiresAt),
    obtainedAt: toInstant(pair.obtainedAt),
    generation: pair.generation,
    ...(pair.follows !== undefined && { follows: pair.follows }),
  };
  return JSON.stringify(stored);
}

/**
 * @param name name of the secret
 * @throws {ShapeError} naming the secret and the fault
 */
export function pairOfText(text: string, name: string): StoredPair {
  const stored = checkedJson(partnerAccountSecret, text, `secret ${name}`);
  return {
    accessToken: new Secret(stored.accessToken),
    refreshToken: new Secret(stored.refreshToken),
    scope: stored.scope,
    expiresAt: Date.parse(stored.expiresAt),
    obtainedAt: Date.parse(stored.obtainedAt),
    generation: stored.generation,
    ...(stored.follows !== undefined && { follows: stored.follows }),
  };
}

/** The credentials that identify the bridge to the partner service. */
export interface Application {
  readonly clientId: Secret;
  readonly clientSecret: Secret;
}

export const textOfApplication = ({ clientId, clientSecret }: Application): string =>
  JSON.stringify({ clientId: clientId.reveal(), clientSecret: clientSecret.reveal() });

/**
 * @param name name of the secret
 * @throws {ShapeError} also for the empty text of a secret that is not filled in yet
 */
export function applicationOfText(text: string, name: string): Application {
  const stored = checkedJson(applicationSecret, text, `secret ${name}`);
  return { clientId: new Secret(stored.clientId), clientSecret: new Secret(stored.clientSecret) };
}
