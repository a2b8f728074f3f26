import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { exposureOf, stateFileIn } from '../../../shared/sqlite/file/private-folder.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();

/** A folder with a state file in it, with these modes. */
function withModes(dirMode: number, fileMode: number): string {
  const dir = folder();
  writeFileSync(stateFileIn(dir), '');
  chmodSync(stateFileIn(dir), fileMode);
  chmodSync(dir, dirMode);
  return dir;
}

describe.skipIf(process.platform === 'win32')('what others could have done with a state folder', () => {
  it.each([
    [0o700, 0o600],
    // Whoever may look into the folder cannot read the file, nor put another in its place.
    [0o755, 0o600],
    [0o711, 0o611],
  ])('is nothing where the folder has mode %o and the file %o', (dirMode, fileMode) => {
    expect(exposureOf(withModes(dirMode, fileMode))).toBeUndefined();
  });

  it.each([0o640, 0o604, 0o644])('is reading the tokens where the file has mode %o', (mode) => {
    const dir = withModes(0o777, mode);
    expect(exposureOf(dir)?.mend).toMatch(/connect each partner account again/);
    expect(exposureOf(dir)?.says).toContain(stateFileIn(dir));
  });

  it.each([0o720, 0o702, 0o777])('is replacing what is in it where the folder has mode %o', (mode) => {
    const dir = withModes(mode, 0o600);
    expect(exposureOf(dir)?.mend).toContain(`chmod 700 ${dir}`);
  });

  it('is told of a folder that has no state yet', () => {
    const dir = folder();
    expect(exposureOf(dir)).toBeUndefined();
    chmodSync(dir, 0o777);
    expect(exposureOf(dir)?.mend).toContain(`chmod 700 ${dir}`);
  });

  it('is nothing where there is no folder, or none that can be looked at', () => {
    const dir = folder();
    expect(exposureOf(path.join(dir, 'none'))).toBeUndefined();
    writeFileSync(path.join(dir, 'file'), '');
    expect(exposureOf(path.join(dir, 'file', 'state'))).toBeUndefined();
  });
});
