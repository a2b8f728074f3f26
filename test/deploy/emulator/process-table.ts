import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface ProcessEntry {
  readonly pid: number;
  readonly group: number;
  readonly command: string;
}

/** The processes of this machine, without zombies, as in a container without an init process. */
export async function processTable(): Promise<ProcessEntry[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,pgid=,stat=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, group, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (!pid || !group || !command || state?.startsWith('Z')) return [];
    return [{ pid: Number(pid), group: Number(group), command }];
  });
}

/** Whether any process of the group is alive. */
export async function runs(group: number): Promise<boolean> {
  try {
    process.kill(-group, 0);
  } catch {
    return false;
  }
  const table = await processTable().catch(() => undefined);
  return table?.some((entry) => entry.group === group) ?? true;
}

/** Processes left by a run: members of its process groups, and processes with its folder in their command line. */
export async function leftOver(groups: readonly number[], folder: string): Promise<string[]> {
  const table = await processTable();
  return table
    .filter(
      ({ pid, group, command }) =>
        pid !== process.pid && (groups.includes(group) || command.includes(folder)),
    )
    .map(({ pid, command }) => `${pid} ${command}`);
}
