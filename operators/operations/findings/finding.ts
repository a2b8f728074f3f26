import type { alarms } from '../../../shared/contract/names.ts';
import { printableLine } from '../../../shared/domain/text.ts';
import type problems from './problems.json';

/** A section of docs/operate/runbook.md: each has the name of an alarm (a test compares them). */
type Section = Lowercase<(typeof alarms)[keyof typeof alarms]>;

export interface Finding {
  /** The kind of problem, such as `circuit`; a new one is not a breaking change. */
  readonly what: string;
  /** Null: the whole bridge. */
  readonly partnerAccount: string | null;
  /** ISO 8601; null when it is not known. */
  readonly since: string | null;
  /** `fault`: events are late or missing, or will be. `attention`: delivered, but somebody must act. */
  readonly severity: 'fault' | 'attention' | 'note';
  readonly stops: Stops;
  /** One or several sentences. */
  readonly says: string;
  /** What to do; it ends with a colon where a command follows. */
  readonly advice: string | null;
  /** The command or the page that mends it; null when it ends by itself. */
  readonly mend: string | null;
  /** Section of docs/operate/runbook.md. */
  readonly runbook: Section | null;
}

/** What is not delivered while it lasts, of which there is more or less; `late`: everything, but later. */
type Stops = 'all' | 'late' | 'nothing' | keyof typeof problems.delivery.exceptions;

/** What a remedy depends on. */
export interface Mends {
  readonly kind: 'local' | 'stack';
  readonly command: (words: string) => string;
}

export interface FindingOptions extends Mends {
  readonly nowMs: number;
}

/** Facts for the sentences, and what of the finding depends on them. */
export interface Found extends Partial<Finding> {
  /** Of problems.json, if it is not that of the code. */
  readonly entry?: string;
  readonly [fact: string]: unknown;
}

export const maxNames = 5;

type Facts = Readonly<Record<string, unknown>>;

/**
 * @param text of problems.json: `{fact}` stands for a fact, `{advert-bridge words}` for a command for this bridge; what is
 * in `[brackets]` is left out if a fact in it is null, undefined or empty
 */
export const filled = (text: string, facts: Facts, { command }: Pick<Mends, 'command'>): string =>
  withoutEmpty(text, facts).replaceAll(
    /\{(?:advert-bridge ((?:[^{}]|\{\w+\})*)|(\w+))\}/g,
    (_, words?: string, fact = '') =>
      words === undefined ? String(facts[fact]) : command(filled(words, facts, { command })),
  );

/** Without a command in it. */
export const sentence = (text: string, facts: Facts): string =>
  printableLine(filled(text, facts, { command: String }));

const withoutEmpty = (text: string, facts: Facts): string =>
  text.replaceAll(/\[([^[\]]*)\]/g, (_, part: string) => {
    const named = [...part.matchAll(/\{(\w+)\}/g)].map(([, fact = '']) => facts[fact]);
    return named.some((fact) => fact === null || fact === undefined || fact === '') ? '' : part;
  });
