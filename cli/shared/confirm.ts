import { CommandError } from '../../operations/errors.ts';
import { ask, type Io } from './io.ts';

/**
 * Asks a person before something that cannot be undone.
 *
 * @throws {CommandError} unless the answer is yes
 */
export async function confirm(io: Io, question: string): Promise<void> {
  ask(io, `${question} [y/N] `);
  for await (const chunk of io.stdin) {
    if (/^\s*y(es)?\s*$/i.test(String(chunk))) return;
    break;
  }
  throw new CommandError('nothing was changed');
}
