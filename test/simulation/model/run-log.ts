/** What happened in a run: the incidents, which a repetition can leave out, and the trace for people. */
import { epochMs, type Scheduler } from './scheduler.ts';

export interface Incident {
  /** Identifies the incident in every run of the same seed. */
  readonly key: string;
  readonly text: string;
}

export interface ModelOptions {
  /** Incidents that must not happen this time. */
  readonly without: ReadonlySet<string>;
  readonly isTraced: boolean;
}

export function createRunLog({
  scheduler,
  without,
  isTraced,
}: ModelOptions & { readonly scheduler: Scheduler }) {
  const incidents: Incident[] = [];
  const lines: string[] = [];

  function trace(who: string, text: () => string): void {
    if (!isTraced) return;
    const seconds = ((scheduler.now() - epochMs) / 1000).toFixed(3);
    lines.push(`${seconds.padStart(9)}  ${who.padEnd(12)} ${text()}`);
  }

  return {
    /** Whether the incident may happen; if so, it is recorded. */
    allows(key: string, text: () => string): boolean {
      if (without.has(key)) return false;
      incidents.push({ key, text: isTraced ? text() : '' });
      return true;
    },
    trace,
    incidents,
    lines,
  };
}
