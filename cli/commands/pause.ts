import * as v from 'valibot';
import { pause, type Resumed, resume } from '../../operations/pause.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes } from '../shared/io.ts';
import { durationOption, flag, option, optionalName } from '../shared/options.ts';
import { commandFor, type Target } from '../shared/target.ts';

const forHelp = 'how long, such as 30m or 2h (default: until resume)';
const reasonText = v.pipe(v.string(), v.regex(/^.{1,200}$/s, 'expected a text of 1 to 200 characters'));

export const addPause = defineCommand(
  {
    summary: 'send no requests to the partner service for a while',
    description:
      'From at most 5 seconds later nothing is asked of the partner service for NAME, or without NAME for anyone. ' +
      'Tokens are still refreshed. Changes wait, and none is given up for it.',
    more: `Given again, the later pause holds. A pause of the whole bridge and one of a
partner account are kept apart: both have to be over.

Examples:
  advert-bridge pause main --for 2h --reason "their migration" --local .advert-bridge
  advert-bridge pause --reason "the service asked us to"   (the deployed stack)`,
    options: {
      name: optionalName('only this partner account'),
      for: option('DURATION', forHelp, v.optional(durationOption)),
      reason: option('TEXT', 'why, for those who see it in status', v.optional(reasonText)),
    },
  },
  async ({ target, options: { name, for: forMs, reason }, report }) => {
    const paused = await withBridge(target, (bridge) => pause(bridge, name, { forMs, reason }));
    const { who, until } = paused;
    report(
      { partnerAccount: name ?? null, paused },
      `Paused ${name ?? 'the whole bridge'} until ${until ?? 'somebody resumes it'}, as ${who}.`,
      `To end that${until === null ? '' : ' earlier'}: \`${resumeCommand(target, name)}\``,
    );
    return exitCodes.done;
  },
);

const earlyHelp = 'end also a pause that the service asked for, an open circuit, and a pause for a bad token';

const resumeCommand = (target: Target, name: string | undefined): string =>
  commandFor(target, name === undefined ? 'resume' : `resume ${name}`);

export const addResume = defineCommand(
  {
    summary: 'end a pause',
    description:
      'Ends the pause of NAME, or without NAME that of the whole bridge. What waited begins to be published within a minute.',
    more: `--early is for when you know that the service is ready: if it is not, it asks
for the next pause. Exit code 3: the whole bridge is still paused.

Examples:
  advert-bridge resume main --local .advert-bridge
  advert-bridge resume --early   (the deployed stack)`,
    options: {
      name: optionalName('only this partner account'),
      early: flag(earlyHelp),
    },
  },
  async ({ target, options: { name, early }, report }) => {
    const resumed = await withBridge(target, (bridge) => resume(bridge, name, { early }));
    report({ partnerAccount: name ?? null, ...resumed }, ...resumedLines(target, name, resumed));
    return resumed.stillPaused ? exitCodes.needsPerson : exitCodes.done;
  },
);

function* resumedLines(target: Target, name: string | undefined, resumed: Resumed): Generator<string> {
  const { ended, servicePauseUntil, circuitEnded, stillPaused, stillHeldUntil } = resumed;
  const what = name ?? 'The whole bridge';
  const why = ended?.reason === null ? '' : ` (${ended?.reason})`;
  if (ended) yield `${what} is resumed: ${ended.who} had paused it at ${ended.since}${why}.`;
  else yield `${what} was not paused by anybody.`;
  if (circuitEnded) yield 'The circuit is closed.';
  else if (servicePauseUntil) yield `Ended the service's pause, which held until ${servicePauseUntil}.`;
  if (stillPaused) {
    const { who, since } = stillPaused;
    yield `The whole bridge is still paused, by ${who} since ${since}. To end that: \`${resumeCommand(target, undefined)}\``;
  }
  if (stillHeldUntil) {
    const early = commandFor(target, name === undefined ? 'resume --early' : `resume ${name} --early`);
    yield `It still waits until ${stillHeldUntil}: the service asked for it, blocks the address or refuses a token. If you know that the service is ready: \`${early}\``;
  }
}
