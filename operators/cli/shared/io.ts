import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import { systemClock } from '../../../shared/domain/clock.ts';
import { printableLine, printableLines } from '../../../shared/domain/text.ts';

/** A command's access to the environment of its process. Tests pass their own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly rows?: number; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Aborted by SIGINT or SIGTERM, or when its terminal or the npm process that started it has ended. Only for commands that
   * still have to finish something then: until a command calls this, signals end the process as usual.
   */
  untilStopped(): AbortSignal;
}

/** Writes text without adding a line break; characters that a terminal does not show become `\uXXXX`. */
export function print(output: Writable, text: string): void {
  output.write(printableLines(text));
}

export const say = ({ stderr }: Pick<Io, 'stderr'>, text: string): void => print(stderr, `${text}\n`);

/** A line of a result. What stands out on a terminal has a tone: how the bridge is, for example. */
export type Line = string | { readonly tone: Tone; readonly text: string; readonly rest?: string };
type Tone = 'green' | 'yellow' | 'red' | 'dim';

export const lineText = (line: Line): string =>
  printableLine(typeof line === 'string' ? line : line.text + (line.rest ?? ''));

/** Prints a command's result on standard output: for a terminal in colors (unless `NO_COLOR` is set), or for a pipe. */
export function show({ stdout }: Pick<Io, 'stdout'>, lines: readonly Line[]): void {
  const inColor = (tone: Tone | 'bold', text: string) =>
    stdout.isTTY ? styleText(tone, printableLine(text), { stream: stdout }) : printableLine(text);
  // Commands stand in backticks.
  const withCommands = (text: string) =>
    printableLine(text).replace(/`[^`]+`/g, (command) => inColor('bold', command));
  const shown = lines.map((line) =>
    typeof line === 'string'
      ? withCommands(line)
      : inColor(line.tone, line.text) + withCommands(line.rest ?? ''),
  );
  stdout.write(`${shown.join('\n')}\n`);
}

/** Writes a result as one line of JSON; unprintable characters in it as `\uXXXX`, which is the same value. */
export function give({ stdout }: Pick<Io, 'stdout'>, data: unknown): void {
  stdout.write(`${printableLine(JSON.stringify(data))}\n`);
}

/** Writes lines of data, and waits for a slower reader. Ends early when `signal` is aborted. */
export async function stream(
  { stdout }: Pick<Io, 'stdout'>,
  lines: string,
  signal: AbortSignal,
): Promise<void> {
  if (!stdout.write(lines)) await once(stdout, 'drain', { signal }).catch(() => undefined);
}

export function clearScreen({ stdout }: Pick<Io, 'stdout'>): void {
  stdout.write('\u001B[H\u001B[J');
}

/** As many of the first lines as the terminal shows at once, the last of them about the rest. */
export function firstScreen(
  { stdout: { rows = 24, columns = 80 } }: Pick<Io, 'stdout'>,
  lines: readonly Line[],
): readonly Line[] {
  const height = (some: readonly Line[]) =>
    some.reduce((sum, line) => sum + Math.max(1, Math.ceil(lineText(line).length / columns)), 0);
  // The cursor stands in the last row.
  if (height(lines) < rows) return lines;
  let shown = lines.length;
  while (shown > 1 && height(lines.slice(0, shown)) > rows - 2) shown -= 1;
  return [...lines.slice(0, shown), `… ${lines.length - shown} more lines, without --watch`];
}

/** Aborted when nobody reads standard output any more. */
export function untilUnread({ stdout }: Pick<Io, 'stdout'>): AbortSignal {
  const readerGone = new AbortController();
  stdout.once('error', () => readerGone.abort());
  return readerGone.signal;
}

/** A reader that ends early (`| head -1`) is no fault of the bridge. On Windows the code is EOF. */
const readerGone: readonly string[] = ['EPIPE', 'EOF'];

const left = new WeakSet<Writable>();
/** For a reader that reads nothing: the process ends without waiting for it. */
export const leaveUnread = ({ stdout }: Pick<Io, 'stdout'>): unknown => left.add(stdout);

/** Resolves when standard output has taken everything, unless it was left unread. */
export const flushed = ({ stdout }: Pick<Io, 'stdout'>): Promise<void> =>
  new Promise((resolve) => (left.has(stdout) ? resolve() : stdout.write('', () => resolve())));

const hastyMs = 2_000;

/** Resolves when standard output has taken everything; once `stopped` is aborted, a reader that reads nothing is left. */
export async function flushedBefore(stopped: AbortSignal, io: Pick<Io, 'stdout'>): Promise<void> {
  const isFlushed = new AbortController();
  const leave = () =>
    systemClock.sleep(hastyMs, isFlushed.signal).then(() => isFlushed.signal.aborted || leaveUnread(io));
  const hasty = new Promise<void>((resolve) => {
    const begin = () => void leave().then(() => resolve());
    if (stopped.aborted) begin();
    else stopped.addEventListener('abort', begin, { once: true });
  });
  await Promise.race([flushed(io), hasty]);
  isFlushed.abort();
}

/** @returns tells why standard output did not take everything so far, with the system's code, such as `ENOSPC` */
export function watchOutput(io: Pick<Io, 'stdout'>) {
  let first: NodeJS.ErrnoException | undefined;
  io.stdout.on('error', (error) => {
    first ??= error;
  });
  return async () => {
    await flushed(io);
    if (!first) return undefined;
    const { code = 'unknown' } = first;
    return { isReaderGone: readerGone.includes(code), code };
  };
}

/** `usage`: the command line or a setting is wrong. `needsPerson`: it succeeded, but manual action is needed. */
export const exitCodes = { done: 0, fault: 1, usage: 2, needsPerson: 3 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
