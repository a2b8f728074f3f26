import { fstatSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';

/**
 * Standard output, of which nothing is lost without an error: Node's own stream for a file ignores that the system has
 * written only a part, as on a disk that is nearly full.
 */
export function wholeOutput(stdout: Writable & { readonly fd?: number }): Writable {
  const { fd } = stdout;
  if (fd === undefined || !fstatSync(fd).isFile()) return stdout;
  const whole = new Writable({
    write(bytes: Buffer, _encoding, done) {
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
  whole.on('error', () => undefined);
  return Object.assign(whole, { fd });
}
