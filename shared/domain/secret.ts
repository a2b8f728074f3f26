/**
 * A string that does not show itself: it prints as `[redacted]` in logs, errors, JSON, template strings and
 * `util.inspect`. {@link Secret.reveal} is the one way to its value; call it where the value leaves for the wire.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** Compares without showing either value. */
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
