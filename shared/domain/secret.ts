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
