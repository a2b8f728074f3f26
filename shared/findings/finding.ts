import type problems from './problems.json';
import type { Mends } from './sentences.ts';

/** Without the name of its bridge. */
export type AlarmName = keyof typeof problems.alarm;

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
  /** The same, if it is a page. */
  readonly page: string | null;
  /** Section of docs/operate/runbook.md. */
  readonly runbook: string | null;
}

/** What is not delivered while it lasts, of which there is more or less; `late`: everything, but later. */
type Stops = 'all' | 'late' | 'nothing' | keyof typeof problems.delivery.exceptions;

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
