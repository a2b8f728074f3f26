/** The command line or a setting is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code = 'usage';
}

/** The command failed, and the message says what to do: exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code = 'command-failed';
}
