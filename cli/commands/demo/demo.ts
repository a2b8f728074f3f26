import { defineCommand } from '../../shared/command.ts';
import { optionalNumber } from '../../shared/options.ts';
import { more } from './text.ts';

export const addDemo = defineCommand(
  {
    name: 'demo',
    summary: 'watch an embedded bridge and the sandbox service at work',
    description: 'Runs the sandbox partner service and an embedded bridge in one process.',
    more,
    where: 'none',
    options: {
      changes: optionalNumber('make N changes, account for them and end', 1, 1_000_000),
    },
    isWithoutJson: true,
  },
  async ({ io, options: { changes } }) => (await import('./run-demo.ts')).runDemo(io, changes),
);
