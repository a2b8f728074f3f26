import { defineCommand } from '../shared/command.ts';
import { optionalNumber } from '../shared/options.ts';

export const addDemo = defineCommand(
  {
    help: `watch an embedded bridge and the sandbox service at work
Adverts change, and events appear (as JSON lines with --json), until Ctrl-C. Prints the address of a page to
watch the bridge and to break it. Everything is kept in a temporary folder and removed at the end.

Examples:
  $0 demo
  $0 demo --changes 200     (exit code 0 only if the books balance)`,
    where: 'none',
    options: { changes: optionalNumber('make N changes, account for them and end', 1, 1_000_000) },
  },
  async ({ io, options: { changes }, json }) =>
    (await import('../run/run-demo.ts')).runDemo(io, changes, json),
);
