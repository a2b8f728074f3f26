import { Writable } from 'node:stream';
import { printableLine } from '../../../shared/domain/text.ts';
import { type Io, say } from './io.ts';

const redrawEveryMs = 500;
const lineEveryMs = 30_000;
const eraseLine = '\r\u001B[K';

/** Shows one line that is updated during long work; where standard error is no terminal, a new line now and then. */
export function startProgress({ stderr }: Pick<Io, 'stderr'>, text: () => Promise<string>) {
  let isShown = false;
  let isStopped = false;

  const erase = () => {
    if (isShown) stderr.write(eraseLine);
    isShown = false;
  };
  const show = async () => {
    const line = await text().catch(() => '');
    if (isStopped || line === '') return;
    if (!stderr.isTTY) return say({ stderr }, line);
    stderr.write(`${eraseLine}${printableLine(line)}`);
    isShown = true;
  };
  const timer = setInterval(() => void show(), stderr.isTTY ? redrawEveryMs : lineEveryMs).unref();

  return {
    /** For other printable text: removes the progress line before the text is written. */
    output: new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        erase();
        if (!isStopped) stderr.write(chunk);
        done();
      },
    }),
    /** Removes the progress line permanently, and drops later writes to `output`. */
    stop() {
      isStopped = true;
      clearInterval(timer);
      erase();
    },
  };
}

/** Shows progress during `work`: the last line that `work` has set. */
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
