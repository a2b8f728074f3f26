import { createInterface } from 'node:readline';
import { CommandError } from '../../../../operations/errors.ts';
import type { Io } from '../../../shared/io.ts';

/**
 * Reads the first non-blank line from standard input.
 *
 * @returns undefined once `signal` is aborted
 * @throws {CommandError} if standard input ends without such a line
 */
export async function pastedLine(io: Io, signal: AbortSignal): Promise<string | undefined> {
  const lines = createInterface({ input: io.stdin, signal, crlfDelay: Number.POSITIVE_INFINITY });
  try {
    for await (const line of lines) if (line.trim() !== '') return line;
  } finally {
    lines.close();
  }
  if (signal.aborted) return undefined;
  throw new CommandError('standard input ended before an address was pasted. Nothing was stored');
}

/**
 * The query of the browser's final address, as the user pasted it.
 *
 * @throws {CommandError} if it is another address; the message does not repeat it, because it may contain the code
 */
export function queryOf(pasted: string, redirectUri: string): URLSearchParams {
  const text = pasted.trim().replace(/^(["'<])(.*)(["'>])$/, '$2');
  const url = URL.parse(text);
  const wanted = new URL(redirectUri);
  if (url?.origin === wanted.origin && url.pathname === wanted.pathname) return url.searchParams;
  throw new CommandError(
    `the pasted text is not the address that the browser ends at, which begins with ${redirectUri}. Nothing was stored; run connect again`,
  );
}
