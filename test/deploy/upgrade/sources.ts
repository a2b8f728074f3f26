import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Release } from '../../released/releases.ts';
import { repository, searchPath } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';

/**
 * The sources of a release, with this repository's packages. The commit is on main, so a clone without tags contains
 * it, but a shallow clone does not.
 *
 * @returns the folder
 */
export async function sourcesOf({ commit }: Release, folder: string, processes: Processes): Promise<string> {
  await mkdir(folder);
  const archive = join(folder, 'sources.tar');
  const git = ['-c', 'safe.directory=*', '-C', repository, 'archive', '--output', archive, commit];
  for (const [file, args] of [
    ['git', git],
    ['tar', ['-xf', archive, '-C', folder]],
  ] as const) {
    const command = { file, args, env: { PATH: searchPath } };
    const { code, stderr } = await processes.run(command, { timeoutMs: 60_000 });
    if (code === 0) continue;
    throw new Error(`${stderr.trim()}\nThe release is taken from the history: git fetch --unshallow`);
  }
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
