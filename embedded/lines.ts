import type { Clock } from '../shared/domain/clock.ts';
import { type Loop, startLoop } from '../shared/domain/loop.ts';
import { linesOf } from '../shared/domain/text.ts';
import type { Observer } from '../shared/ports/observer.ts';
import { createLineWriter, type LineOutput } from './line-writer.ts';
import { type EventLog, linesReader } from './state/event-log.ts';

export interface LinesDeps {
  readonly output: LineOutput;
  /** The stored position. */
  readonly from: number;
  readonly log: Pick<EventLog, 'after' | 'advance' | 'readerOf' | 'note'>;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Aborted when a signal ends the run. */
  readonly signal: AbortSignal;
}

export interface Lines extends Loop {
  /** Number of the last event that was written. */
  position(): number;
  /** Events up to this number were given up. */
  passOver(number: number): void;
  /** Why not everything was written; undefined if it was, or its reader has gone. */
  unwritten(): string | undefined;
}

/** Readers are woken when something is appended; this is for what another process appends. */
const longestLookMs = 5_000;

/**
 * Writes the events of the log to standard output, one per line, each after the previous one was taken whole. The stored
 * position stays behind what its reader may not have read: after a crash, or when the reader has gone, the next run writes
 * that again. Once stopped, ends when the rest is written, or nobody takes it.
 */
export function startLines({ output, from, log, clock, observer, signal }: LinesDeps): Lines {
  let position = from;
  let passed = 0;
  let isMarked = false;
  const unread = createUnread(output.unreadBytes);
  const writer = createLineWriter({ output, clock, signal, report });

  async function report(trouble?: { readonly reason: string; readonly since: number }): Promise<void> {
    if (trouble) {
      const message = 'standard output takes no events: they are kept, and written when it does';
      observer.error(message, { reason: trouble.reason });
    } else observer.info('standard output takes events again');
    const noted = { trouble: trouble && { ...trouble, gone: false } };
    // On a full disk, the state may not be writable either.
    await log.note(linesReader, noted).catch(() => undefined);
  }

  async function begin(): Promise<boolean> {
    const { tears } = log.readerOf(linesReader) ?? {};
    if ((output.isTorn || tears === output.identity) && !(await writer.write(Buffer.from('\n'))))
      return false;
    await log.note(linesReader, { trouble: undefined, tears: undefined });
    return true;
  }

  async function writeEvent(envelope: string): Promise<boolean> {
    const bytes = Buffer.from(linesOf([envelope]));
    if (bytes.length > output.wholeBytes && !isMarked) {
      await log.note(linesReader, { tears: output.identity });
      isMarked = true;
    }
    if (!(await writer.write(bytes))) return false;
    unread.push(position, bytes.length);
    return true;
  }

  async function store(safe: number): Promise<void> {
    await output.sync?.();
    await log.advance(linesReader, safe);
  }

  let isBegun = false;
  let isAllTaken = true;
  const loop = startLoop(clock, async (stopping) => {
    try {
      if (!isBegun) isAllTaken = await begin();
      isBegun = true;
      const events = isAllTaken ? log.after(position, linesReader) : [];
      for (const { number, envelope } of events) {
        isAllTaken = number <= passed || (await writeEvent(envelope));
        if (!isAllTaken) break;
        position = number;
      }
      if (events.length > 0) await store(unread.before() ?? position);
      if (!isAllTaken) return undefined;
      if (events.length > 0) return 0;
      if (!stopping.aborted) return longestLookMs;
      await store(position);
      if (isMarked) await log.note(linesReader, { tears: undefined });
      return undefined;
    } catch (error) {
      // If only the position could not be stored, the next one is.
      observer.error('the events for standard output could not be read', { error });
      return stopping.aborted ? undefined : longestLookMs;
    }
  });
  return {
    wake: loop.wake,
    position: () => position,
    passOver(number) {
      passed = Math.max(passed, number);
    },
    async stop() {
      writer.hurry();
      await loop.stop();
      await writer.end();
    },
    unwritten: () => (isAllTaken ? undefined : writer.reason()),
  };
}

/** The latest events that were written, together as long as what the reader may not have read. */
function createUnread(mostBytes: number) {
  const events: { readonly before: number; readonly bytes: number }[] = [];
  let sum = 0;
  return {
    push(before: number, bytes: number): void {
      events.push({ before, bytes });
      sum += bytes;
      for (let [first] = events; first && sum - first.bytes >= mostBytes; [first] = events) {
        events.shift();
        sum -= first.bytes;
      }
    },
    /** The position before all of them; undefined if there are none. */
    before: () => events[0]?.before,
  };
}
