import type { Clock } from '../shared/domain/clock.ts';
import { startLoop } from '../shared/domain/loop.ts';

/** Where a run writes its events, one per line. */
export interface LineOutput {
  /** @returns how many bytes were taken, which may be fewer than given. Rejects with the error of the system */
  write(bytes: Buffer): Promise<number>;
  /** A file has this: waits until what was written is on the disk. */
  sync?(): Promise<void>;
  /** How much of what was written its reader may not have read: it is written again unless the run ends well. */
  readonly unreadBytes: number;
  /** A line of at most this length is written whole or not at all, even if the process is killed meanwhile. */
  readonly wholeBytes: number;
  /** Which pipe or file it is. */
  readonly identity: string;
  /** Whether the file or pipe ends within a line. */
  readonly isTorn: boolean;
}

export interface LineWriterOptions {
  readonly output: Pick<LineOutput, 'write'>;
  readonly clock: Clock;
  /** Stores why it takes nothing, and since when; undefined: it takes events again. */
  readonly report: (
    trouble: { readonly reason: string; readonly since: number } | undefined,
  ) => Promise<void>;
  /** Aborted when a signal ends the run. */
  readonly signal: AbortSignal;
}

const watchMs = 1_000;
const retryMs = 1_000;
/** A reader that takes nothing for so long is reported. */
const stalledMs = 30_000;
/** At the end of a run, a reader that takes nothing is left after this time. */
const patienceMs = 60_000;
/** After a signal: within the time that the unit in docs/operate/service.md gives. */
const [hastyPatienceMs, hastyMs] = [10_000, 40_000];
/** The reader has gone. On Windows the code is EOF. */
const closed: readonly string[] = ['EPIPE', 'EOF', 'ECONNRESET', 'ERR_STREAM_DESTROYED'];

/** Writes every byte, however little the system takes at once, and waits for a reader that is slow or a disk that is full. */
export function createLineWriter({ output, clock, report, signal }: LineWriterOptions) {
  const stopping = new AbortController();
  let reason: string | undefined;
  let pendingSince: number | undefined;
  let isLeft = false;
  let leave = (): void => undefined;

  async function note(now: string | undefined): Promise<void> {
    if (now === reason) return;
    reason = now;
    await report(now === undefined ? undefined : { reason: now, since: pendingSince ?? clock.now() });
  }

  /** @returns undefined when it is left */
  const attempt = (bytes: Buffer) =>
    new Promise<number | NodeJS.ErrnoException | undefined>((resolve) => {
      leave = () => resolve(undefined);
      output.write(bytes).then(resolve, resolve);
    });

  let abortedAt: number | undefined;
  const watch = startLoop(clock, async (ended) => {
    if (ended.aborted) return undefined;
    const now = clock.now();
    if (signal.aborted) abortedAt ??= now;
    const waitedMs = pendingSince === undefined ? 0 : now - pendingSince;
    const isHasty = abortedAt !== undefined && (waitedMs >= hastyPatienceMs || now - abortedAt >= hastyMs);
    isLeft ||= isHasty || (stopping.signal.aborted && waitedMs >= patienceMs);
    if (waitedMs >= stalledMs || isLeft) await note(reason ?? 'its reader does not read it');
    if (isLeft) leave();
    return watchMs;
  });

  return {
    /** @returns whether all was taken; false: nothing more will be */
    async write(bytes: Buffer): Promise<boolean> {
      for (let at = 0; at < bytes.length; ) {
        if (isLeft) return false;
        pendingSince ??= clock.now();
        const taken = await attempt(bytes.subarray(at));
        if (typeof taken === 'number') {
          at += taken;
          pendingSince = undefined;
          await note(undefined);
        } else {
          const code = taken && (taken.code ?? taken.message);
          if (code === undefined || closed.includes(code)) isLeft = true;
          else await note(`it cannot be written (${code})`);
          if (isLeft || stopping.signal.aborted) return false;
          await clock.sleep(retryMs, stopping.signal);
        }
      }
      return true;
    },
    /** Why it took nothing at last. */
    reason: () => reason,
    /** No longer tries again what failed, and waits only so long for a reader. */
    hurry: () => stopping.abort(),
    end: () => watch.stop(),
  };
}
