/** Shows progress in one line that is overwritten, and only on a terminal. */
export interface Progress {
  show(text: string): void;
  /** Prints a permanent line. */
  say(text: string): void;
  clear(): void;
}

const clearLine = '\r\x1b[2K';

export function createProgress(stderr: NodeJS.WriteStream = process.stderr): Progress {
  const clear = () => {
    if (stderr.isTTY) stderr.write(clearLine);
  };
  return {
    clear,
    show(text) {
      if (stderr.isTTY) stderr.write(`${clearLine}${text}`);
    },
    say(text) {
      clear();
      stderr.write(`${text}\n`);
    },
  };
}
