import { type Stats, statSync } from 'node:fs';
import { stateFileIn } from './state-file.ts';

/**
 * What others on this machine could have done with the state of `dir`, before it is opened: opening makes the file
 * private, and says nothing of what was before.
 *
 * @returns a warning for a person, or undefined when the state is its owner's alone, or not there yet
 */
export function exposureOf(dir: string): string | undefined {
  // Modes say nothing there.
  if (process.platform === 'win32') return undefined;
  const isOpen = (found: Stats | undefined, bits: number) => found !== undefined && (found.mode & bits) !== 0;
  const file = stateFileIn(dir);
  if (isOpen(statOf(file), 0o044)) {
    return (
      `Warning: others on this machine could read ${file}, which holds the tokens. It is its owner's alone from now on. ` +
      'If they may have looked, have the client secret replaced and connect each partner account again.'
    );
  }
  if (isOpen(statOf(dir), 0o022)) {
    return `Warning: others on this machine can replace what is in ${dir}, which holds the tokens: chmod 700 ${dir}`;
  }
  return undefined;
}

/** Whatever keeps it from being looked at, opening it says so in its own words. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
