import { Writable } from 'node:stream';
import { printableLine } from '../../shared/domain/text.ts';
import { type Io, say } from './io.ts';

const everyMs = 500;
const eraseLine = '\r\u001B[K';

export interface Progress {
  /** For other printable text: removes the progress line before the text is written. */
  readonly output: Writable;
  /** Removes the progress line permanently, and drops later writes to `output`. */
  stop(): void;
}

/** Shows one line that is updated during long work, but only if standard error is a terminal. */
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

/** Where standard error is no terminal, a line is written this often. */
const lineEveryMs = 30_000;

/** Shows progress during `work`: the last line that `work` has set. */
export async function withProgress<T>(
  io: Io,
  work: (show: (line: string) => void) => Promise<T>,
): Promise<T> {
  let latest = '';
  const progress = startProgress(io, async () => latest);
  const timer = io.stderr.isTTY
    ? undefined
    : setInterval(() => latest && say(io, latest), lineEveryMs).unref();
  try {
    return await work((line) => {
      latest = line;
    });
  } finally {
    clearInterval(timer);
    progress.stop();
  }
}
