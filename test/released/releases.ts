import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Release {
  readonly version: string;
  /** On main: a clone without tags has it, too. */
  readonly commit: string;
}

/** Where this and all that is kept of each release lies. */
export const released = import.meta.dirname;

/** Every release, the oldest first. */
export const releases: readonly Release[] = JSON.parse(readFileSync(join(released, 'releases.json'), 'utf8'));

/** The file of a release that `make.ts` wrote, as text. */
export const fileOf = ({ version }: Pick<Release, 'version'>, name: string): string =>
  readFileSync(join(released, version, name), 'utf8');
