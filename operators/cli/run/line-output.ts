import { closeSync, fdatasync, fstatSync, openSync, readSync, write } from 'node:fs';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { LineOutput } from '../../../embedded/line-writer.ts';

const writeTo = promisify(write);
const syncData = promisify(fdatasync);

/** The capacity of a pipe, and as much again that its reader has taken but not handled. */
const unreadBytes = 2 * 65_536;
/** PIPE_BUF of Linux, or the least that POSIX allows. @see https://pubs.opengroup.org/onlinepubs/9799919799/functions/write.html */
const pipeBufferBytes = process.platform === 'linux' ? 4_096 : 512;

/** Standard output for the events of a run. Without a descriptor it is a terminal, or belongs to a test. */
export function lineOutputOf(stdout: Writable & { readonly fd?: number }): LineOutput {
  const { fd } = stdout;
  const stat = fd === undefined ? undefined : fstatSync(fd);
  const identity = `${stat?.dev}/${stat?.ino}`;
  if (fd !== undefined && stat?.isFile()) {
    const isTorn = stat.size > 0 && endsTorn(fd, stat.size);
    let end = stat.size;
    let isCut = false;
    return {
      async write(bytes) {
        const { size } = fstatSync(fd);
        // A rotation that truncates the file (copytruncate) leaves the offset of `> file` behind its end.
        isCut ||= size < end;
        const { bytesWritten } = await writeTo(fd, bytes, 0, bytes.length, isCut ? size : null);
        end = size + bytesWritten;
        return bytesWritten;
      },
      // Some file systems do not know it.
      sync: () => syncData(fd).catch(() => undefined),
      unreadBytes: 0,
      wholeBytes: isTorn === undefined ? 0 : Number.POSITIVE_INFINITY,
      identity,
      isTorn: isTorn === true,
    };
  }
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stdout.write(bytes.toString(), (error) => (error ? reject(error) : resolve(bytes.length)));
      }),
    unreadBytes: stat ? unreadBytes : 0,
    wholeBytes: stat === undefined ? Number.POSITIVE_INFINITY : stat.isFIFO() ? pipeBufferBytes : 0,
    identity,
    isTorn: false,
  };
}

/** By the last byte of the file, which is opened anew because a descriptor for writing cannot read; undefined if it may not be. */
function endsTorn(fd: number, size: number): boolean | undefined {
  try {
    const file = openSync(`/dev/fd/${fd}`, 'r');
    try {
      const last = Buffer.alloc(1);
      return readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
