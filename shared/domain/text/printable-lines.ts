import { printableJson } from './printable.ts';

/**
 * Events as lines, each ending in a newline; unprintable characters become `\uXXXX`, which is the same JSON value.
 */
export const linesOf = (envelopes: readonly string[]): string =>
  envelopes.map((envelope) => `${printableJson(envelope)}\n`).join('');
