import * as v from 'valibot';
import type { ShownPause } from '../../operations/account-status.ts';
import { pause } from '../../operations/pause.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes } from '../shared/io.ts';
import { durationOption, option, optionalName } from '../shared/options.ts';
import { commandFor, type Target } from '../shared/target.ts';

const expectedReason = 'expected a text of 1 to 200 characters';

export const addPause = defineCommand(
  {
    name: 'pause',
    group: 'act',
    summary: 'send no requests to the partner service for a while',
    description:
      'From at most 5 seconds later nothing is asked of the partner service for NAME, or without NAME for anyone. ' +
      'Tokens are still refreshed. Changes wait, and none is given up for it.',
    more: `Given again, the later pause holds. A pause of the whole bridge and one of a
partner account are kept apart: both have to be over.

Examples:
  advert-bridge pause main --for 2h --reason "their migration" --local .advert-bridge
  advert-bridge pause --reason "the service asked us to"   (the deployed stack)`,
    args: { name: optionalName('only this partner account') },
    options: {
      for: option(
        'DURATION',
        'how long, such as 30m or 2h (default: until resume)',
        v.optional(durationOption),
      ),
      reason: option(
        'TEXT',
        'why, for those who see it in status',
        v.optional(v.pipe(v.string(), v.minLength(1, expectedReason), v.maxLength(200, expectedReason))),
      ),
    },
  },
  async ({ target, args: { name }, options: { for: forMs, reason }, report }) => {
    const stored = await withBridge(target, (bridge) => pause(bridge, name, { forMs, reason }));
    report({ partnerAccount: name ?? null, paused: stored }, ...pausedLines(target, name, stored));
    return exitCodes.done;
  },
);

function pausedLines(target: Target, name: string | undefined, { who, until }: ShownPause): string[] {
  const command = commandFor(target, name === undefined ? 'resume' : `resume ${name}`);
  return [
    `Paused ${name ?? 'the whole bridge'} until ${until ?? 'somebody resumes it'}, as ${who}.`,
    `To end that${until === null ? '' : ' earlier'}: \`${command}\``,
  ];
}
