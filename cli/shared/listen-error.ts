import { CommandError } from '../../operations/errors.ts';

/**
 * Explains why the process cannot listen on a port.
 *
 * @param otherPort what to do instead, as a sentence without a full stop
 */
export function listenError(cause: unknown, port: number, otherPort: string): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} is in use by another program`,
    EACCES: `this user may not listen on port ${port}, only on ports from 1024 up`,
  };
  const reason = reasons[code ?? ''];
  return reason === undefined ? cause : new CommandError(`${reason}. ${otherPort}`, { cause });
}
