import * as v from 'valibot';
import { defineCommand } from '../../shared/command.ts';
import { option, wholeOption } from '../../shared/options.ts';
import { more } from './text.ts';

export const addDemo = defineCommand(
  {
    name: 'demo',
    summary: 'watch an embedded bridge and the sandbox service at work',
    description: 'Runs the sandbox partner service and an embedded bridge in one process.',
    more,
    where: 'none',
    options: {
      changes: option(
        'N',
        'make N changes, deliver them and account for them, instead of running until Ctrl-C',
        v.optional(wholeOption(1, 1_000_000)),
      ),
    },
    isWithoutJson: true,
  },
  async ({ io, options: { changes } }) => (await import('./run-demo.ts')).runDemo(io, changes),
);
