import { CommandError } from '../../operations/errors.ts';

/** Why a port cannot be listened on, for a person. @param otherPort what to do instead, as a sentence without a stop */
export function listenError(cause: unknown, port: number, otherPort: string): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new CommandError(`port ${port} is in use by another program. ${otherPort}`, { cause });
  }
  if (code === 'EACCES') {
    return new CommandError(
      `port ${port} may not be listened on by this user: it takes one from 1024 up. ${otherPort}`,
      {
        cause,
      },
    );
  }
  return cause;
}
