import { printableJson } from './printable.ts';

/** Events as lines, a newline after each; unprintable characters as `\uXXXX`, which is the same value. */
export const linesOf = (envelopes: readonly string[]): string =>
  envelopes.map((envelope) => `${printableJson(envelope)}\n`).join('');
