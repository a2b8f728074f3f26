import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { exposureOf, stateFileIn } from '../../../../embedded/state/file/private-folder.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();

describe.skipIf(process.platform === 'win32')('exposure of a state folder to other users', () => {
  it.each([
    [0o700, 0o600, undefined],
    // Whoever may look into the folder cannot read the file.
    [0o755, 0o600, undefined],
    [0o711, 0o611, undefined],
    [0o777, 0o640, 'connect each partner account again'],
    [0o777, 0o604, 'connect each partner account again'],
    [0o700, undefined, undefined],
  ])('with modes %o and, of the file, %o: %s', (dirMode, fileMode, mend) => {
    const dir = folder();
    if (fileMode !== undefined) {
      writeFileSync(stateFileIn(dir), '');
      chmodSync(stateFileIn(dir), fileMode);
    }
    chmodSync(dir, dirMode);
    const exposure = exposureOf(dir);
    if (mend === undefined) expect(exposure).toBeUndefined();
    else expect(exposure?.mend).toContain(mend);
  });

  it('no exposure is reported without a folder that can be inspected', () => {
    const dir = folder();
    expect(exposureOf(path.join(dir, 'none'))).toBeUndefined();
    writeFileSync(path.join(dir, 'file'), '');
    expect(exposureOf(path.join(dir, 'file', 'state'))).toBeUndefined();
  });
});
