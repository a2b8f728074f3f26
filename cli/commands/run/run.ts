import { defineCommand } from '../../shared/command.ts';
import { exitCodes, say } from '../../shared/io.ts';
import { runOptions } from './options.ts';
import { leftText, more } from './text.ts';

export const addRun = defineCommand(
  {
    name: 'run',
    summary: 'run the embedded bridge',
    description:
      'Runs the bridge whose state is in a folder: polls the feeds, fetches each changed advert, publishes events. A ' +
      'deployed stack runs by itself, on its schedule.',
    more,
    where: { localOnly: 'A deployed stack runs by itself' },
    options: runOptions,
    isWithoutJson: true,
  },
  async ({ io, target, options }) => {
    const { runBridge } = await import('./run-bridge.ts');
    const { needsPerson, stopped } = await runBridge(io, target, options);
    if (!options.untilIdle || stopped || !needsPerson) return exitCodes.done;
    say(io, leftText(target));
    return exitCodes.needsPerson;
  },
);
