import { Writable } from 'node:stream';
import { printableLine } from '../../shared/domain/text/printable.ts';
import type { Io } from './io.ts';

const everyMs = 500;
const eraseLine = '\r\u001B[K';

export interface Progress {
  /** For whatever else is said meanwhile, which has to be printable: takes the progress line away first. */
  readonly output: Writable;
  /** Says nothing from now on. */
  mute(): void;
  stop(): void;
}

/**
 * A line that is written over and over while work is long; only where standard error is a terminal.
 *
 * @param text the line as it is now
 */
export function startProgress({ stderr }: Pick<Io, 'stderr'>, text: () => Promise<string>): Progress {
  let isShown = false;
  let isMute = false;

  const erase = () => {
    if (isShown) stderr.write(eraseLine);
    isShown = false;
  };
  const show = async () => {
    const line = await text().catch(() => '');
    if (isMute || line === '') return;
    stderr.write(`${eraseLine}${printableLine(line)}`);
    isShown = true;
  };

  const timer = stderr.isTTY ? setInterval(() => void show(), everyMs).unref() : undefined;
  const mute = () => {
    isMute = true;
    clearInterval(timer);
    erase();
  };
  const output = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      erase();
      if (!isMute) stderr.write(chunk);
      done();
    },
  });
  return { output, mute, stop: mute };
}
