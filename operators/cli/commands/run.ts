import { runOptions } from '../run/options.ts';
import { defineCommand } from '../shared/command.ts';
import { eventOutput } from '../shared/event-output.ts';
import { exitCodes, say } from '../shared/io.ts';

export const addRun = defineCommand(
  {
    help: `run the embedded bridge
Polls the feeds, fetches each changed advert, publishes events: a line each for people on a
terminal; JSON, as subscribers get it, otherwise, and with --json. A deployed stack runs by itself, on its
schedule. Every setting of the bridge is an option too, such as --poll-seconds 5:
docs/operate/deploy.md#settings

SIGTERM and SIGINT end it when what is in hand is done, with exit code 0. So does a terminal or reader of output
that goes away; the next run writes what it did not take. Webhooks are signed: \`$0 webhook
--help\`

Examples:
  $0 run --local .advert-bridge --until-idle >> events.ndjson
  $0 run --local .advert-bridge --webhook https://example.org/adverts`,
    where: 'local',
    options: runOptions,
  },
  async ({ io, target, options, json, command }) => {
    const { runBridge } = await import('../run/run-bridge.ts');
    const { needsPerson, stopped } = await runBridge(eventOutput(io, json), target, options);
    if (!options.untilIdle || stopped || !needsPerson) return exitCodes.done;
    say(io, `Manual action is needed: ${command('status')} says what.`);
    return exitCodes.needsPerson;
  },
);
