import { Writable } from 'node:stream';
import { printableLine } from '../../shared/domain/text/printable.ts';
import type { Io } from './io.ts';

const everyMs = 500;
const eraseLine = '\r\u001B[K';

export interface Progress {
  /** For printable text from elsewhere: takes the progress line away before it is written. */
  readonly output: Writable;
  /** Takes the progress line away for good, and drops what is written to `output` from now on. */
  stop(): void;
}

/**
 * Shows one line that is rewritten while work is long; only where standard error is a terminal.
 *
 * @param text the line as it is now
 */
export function startProgress({ stderr }: Pick<Io, 'stderr'>, text: () => Promise<string>): Progress {
  let isShown = false;
  let isStopped = false;

  const erase = () => {
    if (isShown) stderr.write(eraseLine);
    isShown = false;
  };
  const show = async () => {
    const line = await text().catch(() => '');
    if (isStopped || line === '') return;
    stderr.write(`${eraseLine}${printableLine(line)}`);
    isShown = true;
  };
  const timer = stderr.isTTY ? setInterval(() => void show(), everyMs).unref() : undefined;

  return {
    output: new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        erase();
        if (!isStopped) stderr.write(chunk);
        done();
      },
    }),
    stop() {
      isStopped = true;
      clearInterval(timer);
      erase();
    },
  };
}

/** Shows progress while `work` goes on: the line that `work` gave last. */
export async function withProgress<T>(
  io: Io,
  work: (show: (line: string) => void) => Promise<T>,
): Promise<T> {
  let latest = '';
  const progress = startProgress(io, async () => latest);
  try {
    return await work((line) => {
      latest = line;
    });
  } finally {
    progress.stop();
  }
}
