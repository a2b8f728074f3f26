import { type Stats, statSync } from 'node:fs';
import { stateFileIn } from './state-file.ts';

/**
 * Finds out whether other users of this machine had access to the state in `dir`. To be called before it is opened, which
 * makes the file private.
 *
 * @returns a warning for a person; undefined when only the owner has access, or nothing exists yet
 */
export function exposureOf(dir: string): string | undefined {
  // Windows does not protect files by their mode.
  if (process.platform === 'win32') return undefined;
  const isOpen = (found: Stats | undefined, bits: number) => found !== undefined && (found.mode & bits) !== 0;
  const file = stateFileIn(dir);
  if (isOpen(statOf(file), 0o044)) {
    return (
      `Warning: other users of this machine could read ${file}, which contains the tokens. From now on only its owner can. ` +
      'If somebody may have read it, have the client secret replaced and connect each partner account again.'
    );
  }
  if (isOpen(statOf(dir), 0o022)) {
    return `Warning: other users of this machine can replace the files in ${dir}, which contain the tokens. Prevent it: chmod 700 ${dir}`;
  }
  return undefined;
}

/** Without an error for what cannot be looked at: opening it will give one. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
