import * as v from 'valibot';
import { pause } from '../../../operations/pause.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes } from '../../shared/io.ts';
import { durationOption, option, optionalName } from '../../shared/options.ts';
import { more, pausedLines } from './text.ts';

const expectedReason = 'expected a text of 1 to 200 characters';

export const addPause = defineCommand(
  {
    name: 'pause',
    summary: 'send no requests to the partner service for a while',
    description:
      'Stops requests to the partner service for NAME, or without NAME for all partner accounts. Tokens are still ' +
      'refreshed, and waiting changes are published after the pause.',
    more,
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
