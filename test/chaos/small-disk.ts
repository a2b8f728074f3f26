import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { newFolder } from './bridge.ts';
import type { LifeOptions } from './life.ts';

/** A folder for a bridge that will run out of disk space. */
export interface SmallDisk {
  readonly name: string;
  readonly dir: string;
  /** Leaves almost no space. @returns options for starting a process that runs into the limit */
  fill(): LifeOptions;
  makeRoom(): void;
  remove(): void;
}

/** Enough for a few changes. */
const leftKib = 400;

/** A separate file system; undefined if this user may not mount one. */
export function mountedDisk(): SmallDisk | undefined {
  const folder = newFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', folder], { stdio: 'ignore' });
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  const ballast = path.join(folder, 'ballast');
  return {
    name: 'tmpfs',
    dir: path.join(folder, 'bridge'),
    fill() {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize - leftKib * 1024));
      return {};
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    remove() {
      execFileSync('umount', [folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

/** A limit on the size of files, which SQLite reports as an input/output error. */
export function limitedDisk(): SmallDisk {
  const dir = newFolder();
  return {
    name: 'ulimit -f',
    dir,
    fill: () => ({ maxFileKib: leftKib }),
    makeRoom: () => undefined,
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
