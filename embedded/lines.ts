import type { Writable } from 'node:stream';
import type { Clock } from '../shared/domain/clock.ts';
import { type Loop, startLoop } from '../shared/domain/concurrency.ts';
import { linesOf } from '../shared/domain/text.ts';
import type { Observer } from '../shared/ports/observer.ts';
import type { EventLog } from '../shared/sqlite/event-log.ts';

export interface LinesDeps {
  readonly log: Pick<EventLog, 'after' | 'advance'>;
  readonly clock: Clock;
  readonly observer: Observer;
}

/** The reader of the log that `output` stands for. */
export const linesReader = 'stdout';
/** The writer is woken when something is appended; this is for what another process appends. */
const longestLookMs = 5_000;

/**
 * Writes the events of the log to a stream, one per line. Once stopped, ends when the rest is written, or the stream closed.
 *
 * @param from the stored position
 */
export function startLines(output: Writable, from: number, deps: LinesDeps): Loop {
  const { log, clock, observer } = deps;
  let position = from;
  let isClosed = false;
  output.on('error', () => {
    isClosed = true;
  });

  return startLoop(clock, async (stopping) => {
    try {
      const events = log.after(position, linesReader);
      const last = events.at(-1);
      if (isClosed || (!last && stopping.aborted)) return undefined;
      if (!last) return longestLookMs;
      const text = linesOf(events.map(({ envelope }) => envelope));
      if (await new Promise((resolve) => output.write(text, resolve))) return undefined;
      position = last.number;
      await log.advance(linesReader, position);
      return 0;
    } catch (error) {
      // If only the position could not be stored, the next one is.
      observer.error('the events for standard output could not be read', { error });
      return stopping.aborted ? undefined : longestLookMs;
    }
  });
}
