import { checked } from '../../shared/contract/checks.ts';
import { type AdvertEvent, type Envelope, envelope } from '../../shared/contract/events.ts';
import type { Ended } from './life.ts';

/** An event line as received, with the run that wrote it. */
export interface Line {
  readonly run: number;
  readonly text: string;
  readonly event: AdvertEvent;
}

export interface Transcript {
  readonly lines: readonly Line[];
  /** Number of runs whose output ends within a line, because they were killed while writing it. */
  readonly torn: number;
  readonly faults: readonly string[];
}

/** Reads the output of all runs, in the order in which they ran. */
export function transcriptOf(runs: readonly Ended[]): Transcript {
  const lines: Line[] = [];
  const faults: string[] = [];
  let torn = 0;
  for (const [run, { stdout, exitCode }] of runs.entries()) {
    const texts = stdout.split('\n');
    const rest = texts.pop();
    if (rest !== '') {
      torn += 1;
      if (exitCode !== null) faults.push(`run ${run} was not killed, yet its output ends within a line`);
    }
    for (const text of texts) {
      const event = eventOf(text);
      if (typeof event === 'string') faults.push(`run ${run}: ${event}: ${text}`);
      else lines.push({ run, text, event });
    }
  }
  return { lines, torn, faults };
}

function eventOf(text: string): AdvertEvent | string {
  let event: Envelope;
  try {
    event = checked(envelope, JSON.parse(text), 'event line');
  } catch (error) {
    return (error as Error).message;
  }
  if (event['detail-type'] === 'AdvertStatusChanged' || event['detail-type'] === 'AdvertUnavailable') {
    return event;
  }
  return `an event that nobody expects: ${event['detail-type']}`;
}
