import type { Clock } from '../../../shared/domain/clock.ts';
import { clearScreen, type ExitCode, type Io } from '../../shared/io.ts';

const everyMs = 5_000;

export interface Watching {
  readonly io: Io;
  readonly clock: Clock;
  /** Ends the watch mode. */
  readonly signal: AbortSignal;
  /**
   * On a terminal, each report replaces the previous one. Otherwise, and for JSON, they are printed one after the
   * other.
   */
  readonly redraws: boolean;
}

/**
 * Reports every five seconds until the signal.
 *
 * @param report calls `clear`, shows one report, and resolves with its exit code
 * @returns the exit code of the last report
 */
export async function watch(
  { io, clock, signal, redraws }: Watching,
  report: (clear: () => void) => Promise<ExitCode>,
): Promise<ExitCode> {
  for (;;) {
    const exitCode = await report(() => {
      if (redraws) clearScreen(io);
    });
    await clock.sleep(everyMs, signal);
    if (signal.aborted) return exitCode;
  }
}
