/**
 * Room on the disk that is taken before a token request and given back when its answer does not fit: a disk that fills
 * up between the two must not cost the new refresh token, which the service may not return again.
 */
import { randomBytes } from 'node:crypto';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { guarded } from './state-error.ts';

/** A transaction that stores a pair takes about 50 KB with SQLite's log and its index; others may take a part first. */
const bytes = 256 * 1024;

export interface Reserve {
  /** @throws {StateError} when the disk has no room */
  take(): void;
  release(): void;
}

export const noReserve: Reserve = { take: () => undefined, release: () => undefined };

export const createReserve = (file: string): Reserve => ({
  take: () =>
    guarded(file, () => {
      if (statSync(file, { throwIfNoEntry: false })?.size === bytes) return;
      rmSync(file, { force: true });
      // Random, because some file systems take no room for zeros.
      writeFileSync(file, randomBytes(bytes), { mode: 0o600, flag: 'wx', flush: true });
    }),
  release: () => rmSync(file, { force: true }),
});
