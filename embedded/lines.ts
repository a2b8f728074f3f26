import type { Writable } from 'node:stream';
import type { Clock } from '../shared/domain/clock.ts';
import { linesOf } from '../shared/domain/text/printable.ts';
import type { EventLog } from '../shared/sqlite/event-log.ts';

export interface LinesDeps {
  readonly log: Pick<EventLog, 'after' | 'advance'>;
  readonly clock: Clock;
  /** Called once when the reader has closed the stream. */
  readonly onClosed: () => void;
}

/** The reader of the log that `output` stands for. */
export const linesReader = 'stdout';
/** The writer is woken when something is appended; this is for what another process appends. */
const longestLookMs = 5_000;

/**
 * Writes the events of the log to a stream, one per line. The position moves on when the stream has accepted the lines.
 *
 * @param from the stored position
 */
export function startLines(output: Writable, from: number, { log, clock, onClosed }: LinesDeps) {
  let isStopping = false;
  let wakeUp = new AbortController();
  let isClosed = false;
  output.on('error', () => {
    isClosed = true;
    onClosed();
  });

  /** @returns whether the stream has accepted the text */
  const write = (text: string) =>
    new Promise<boolean>((resolve) => {
      output.write(text, (error) => resolve(!error));
    });

  async function run(): Promise<void> {
    for (let position = from; !isClosed; ) {
      wakeUp = new AbortController();
      const events = log.after(position, linesReader);
      const last = events.at(-1);
      if (last) {
        if (!(await write(linesOf(events.map(({ envelope }) => envelope))))) return;
        position = last.number;
        await log.advance(linesReader, position);
      } else if (isStopping) return;
      else await clock.sleep(longestLookMs, wakeUp.signal);
    }
  }

  const wake = () => wakeUp.abort('woken');
  const running = run();
  return {
    wake,
    /** Resolves when the rest of the log is written, or the stream is closed. */
    stop: () => {
      isStopping = true;
      wake();
      return running;
    },
  };
}
