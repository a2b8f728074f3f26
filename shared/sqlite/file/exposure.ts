import { type Stats, statSync } from 'node:fs';
import { stateFileIn } from './state-file.ts';

export interface Exposure {
  /** `read`: other users may read the state file. `replace`: they may put other files into the folder. */
  readonly kind: 'read' | 'replace';
  /** The file, or the folder. */
  readonly place: string;
}

/** Checks by the modes of folder and file whether other users of this machine have access to the state in `dir`. */
export function findExposure(dir: string): Exposure | undefined {
  // On Windows, file modes give no protection.
  if (process.platform === 'win32') return undefined;
  const isOpen = (found: Stats | undefined, bits: number) => found !== undefined && (found.mode & bits) !== 0;
  const file = stateFileIn(dir);
  for (const place of [file, `${file}-wal`]) {
    if (isOpen(statOf(place), 0o044)) return { kind: 'read', place };
  }
  return isOpen(statOf(dir), 0o022) ? { kind: 'replace', place: dir } : undefined;
}

/**
 * Finds out whether other users of this machine had access to the state in `dir`. Call it before the state is opened,
 * because opening makes the file private.
 *
 * @returns a warning for a person; undefined when only the owner has access, or nothing exists yet
 */
export function exposureOf(dir: string): string | undefined {
  const { kind, place } = findExposure(dir) ?? {};
  if (kind === 'read') {
    return (
      `Warning: other users of this machine could read ${place}, which contains the tokens. From now on only its owner can. ` +
      'If somebody may have read it, have the client secret replaced and connect each partner account again.'
    );
  }
  if (kind === undefined) return undefined;
  return `Warning: other users of this machine can replace the files in ${place}, which contain the tokens. Prevent it: chmod 700 ${place}`;
}

/** Ignores paths that cannot be inspected; opening them will report the error. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
