import { CommandError, UsageError } from '../../operations/errors.ts';
import { type Io, print } from './io.ts';

/** @throws {UsageError} if an action that cannot be undone needs a confirmation, but there is no terminal */
export function requireTerminal({ stdin }: Io, what: string): void {
  if (stdin.isTTY) return;
  throw new UsageError(
    `${what} cannot be undone, and there is no terminal to ask: add --yes if you are sure`,
  );
}

/**
 * Asks for confirmation before an action that cannot be undone.
 *
 * @throws {CommandError} unless the answer is yes
 */
export async function confirm(io: Io, question: string): Promise<void> {
  print(io.stderr, `${question} [y/N] `);
  for await (const chunk of io.stdin) {
    if (/^\s*y(es)?\s*$/i.test(String(chunk))) return;
    break;
  }
  throw new CommandError('nothing was changed');
}
