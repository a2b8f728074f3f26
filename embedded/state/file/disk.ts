import { statfsSync } from 'node:fs';

/** A transaction needs more. After one that did not fit, less is free. */
const leastBytes = 65_536;

export function freeBytesIn(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

/** Whether the disk of a state is full; also true for a user who may use the blocks that are kept for root. */
export const isDiskFull = (dir: string): boolean => freeBytesIn(dir) < leastBytes;
