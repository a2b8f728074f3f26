import { CommandError } from './errors.ts';

const maxNames = 20;

/** A NAME that the bridge does not know. It is not repeated: perhaps something else was put in its place. */
export function unknownAccount(known: readonly string[]): CommandError {
  if (known.length === 0) return new CommandError('no such partner account: none is connected');
  const more = known.length > maxNames ? ` and ${known.length - maxNames} more` : '';
  return new CommandError(`no such partner account. Known: ${known.slice(0, maxNames).join(', ')}${more}`);
}
