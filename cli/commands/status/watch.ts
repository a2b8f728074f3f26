import type { Clock } from '../../../shared/domain/clock.ts';
import { clearScreen, type ExitCode, type Io } from '../../shared/io.ts';

const everyMs = 5_000;

export interface Watching {
  readonly io: Io;
  readonly clock: Clock;
  /** Ends the watching. */
  readonly signal: AbortSignal;
  /** On a terminal each report replaces the one before; else, and for JSON, they follow one another. */
  readonly redraws: boolean;
}

/**
 * Reports every five seconds until the signal.
 *
 * @param report shows one report, after it has called `clear`, and resolves with the exit code that it stands for
 * @returns that of the last one
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
