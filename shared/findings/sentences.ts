/** Makes sentences of the texts in JSON files and of facts. */
import { printableLine } from '../domain/text.ts';

export type Facts = Readonly<Record<string, unknown>>;

export interface Commands {
  /** Such as `npx advert-bridge status --local DIR` for `status`. */
  readonly command: (words: string) => string;
}

/** What a remedy depends on. */
export interface Mends extends Commands {
  readonly kind: 'local' | 'stack';
}
/** One for each kind of bridge, or one for both. */
export type Remedy = string | Readonly<Record<Mends['kind'], string>>;

export function remedied(mend: Remedy | undefined, facts: Facts, mends: Mends): string | null {
  const text = typeof mend === 'object' ? mend[mends.kind] : mend;
  return text === undefined ? null : filled(text, facts, mends);
}

/**
 * @param text of problems.json: `{fact}` stands for a fact, `{advert-bridge words}` for a command for this bridge; what is
 * in `[brackets]` is left out if a fact in it is null, undefined or empty
 */
export const filled = (text: string, facts: Facts, { command }: Commands): string =>
  withoutEmpty(text, facts).replaceAll(
    /\{(?:advert-bridge ((?:[^{}]|\{\w+\})*)|(\w+))\}/g,
    (_, words?: string, fact = '') =>
      words === undefined ? String(facts[fact]) : command(filled(words, facts, { command })),
  );

export const sentence = (text: string, facts: Facts, command: Commands['command'] = String): string =>
  printableLine(filled(text, facts, { command }));

const withoutEmpty = (text: string, facts: Facts): string =>
  text.replaceAll(/\[([^[\]]*)\]/g, (_, part: string) => {
    const named = [...part.matchAll(/\{(\w+)\}/g)].map(([, fact = '']) => facts[fact]);
    return named.some((fact) => fact === null || fact === undefined || fact === '') ? '' : part;
  });
