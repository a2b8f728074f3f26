import { type Resumed, resume } from '../../operations/pause.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes } from '../shared/io.ts';
import { flag, optionalName } from '../shared/options.ts';
import { commandFor, type Target } from '../shared/target.ts';

export const addResume = defineCommand(
  {
    name: 'resume',
    group: 'act',
    summary: 'end a pause',
    description:
      'Ends the pause of NAME, or without NAME that of the whole bridge. What waited is published within a minute.',
    more: `--early is for when you know that the service is ready: if it is not, it asks
for the next pause. Exit code 3: the whole bridge is still paused.

Examples:
  advert-bridge resume main --local .advert-bridge
  advert-bridge resume --early   (the deployed stack)`,
    args: { name: optionalName('only this partner account') },
    options: {
      early: flag(
        'end also a pause that the service asked for, an open circuit, and a pause for a bad token',
      ),
    },
  },
  async ({ target, args: { name }, options: { early }, report }) => {
    const resumed = await withBridge(target, (bridge) => resume(bridge, name, { early }));
    report({ partnerAccount: name ?? null, ...resumed }, ...resumedLines(target, name, resumed));
    return resumed.stillPaused ? exitCodes.needsPerson : exitCodes.done;
  },
);

function resumedLines(target: Target, name: string | undefined, resumed: Resumed): string[] {
  const { ended, servicePauseUntil, circuitEnded, stillPaused, stillHeldUntil } = resumed;
  const what = name ?? 'The whole bridge';
  const why = ended?.reason === null ? '' : ` (${ended?.reason})`;
  const bridge = commandFor(target, 'resume');
  const early = commandFor(target, name === undefined ? 'resume --early' : `resume ${name} --early`);
  return [
    ended
      ? `${what} is resumed: ${ended.who} had paused it at ${ended.since}${why}.`
      : `${what} was not paused by anybody.`,
    circuitEnded && 'The circuit is closed.',
    !circuitEnded && servicePauseUntil && `Ended the service's pause, which held until ${servicePauseUntil}.`,
    stillPaused &&
      `The whole bridge is still paused, by ${stillPaused.who} since ${stillPaused.since}. To end that: \`${bridge}\``,
    stillHeldUntil &&
      `It still waits until ${stillHeldUntil}: the service asked for it, blocks the address or refuses ` +
        `a token. If you know that the service is ready: \`${early}\``,
  ].filter((line) => typeof line === 'string');
}
