/** Where the run is: one line that is overwritten, and only where a person looks at it. */
export interface Progress {
  show(text: string): void;
  /** A line that stays. */
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
