import * as v from 'valibot';
import { advertId } from '../../../shared/contract/checks.ts';
import { failed, UsageError } from '../../operations/errors.ts';
import { believe, pause, resume } from '../../operations/pause.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes } from '../shared/io.ts';
import { durationOption, flag, option, optionalName } from '../shared/options.ts';
import { factTable } from '../shared/wording.ts';

const forHelp = 'how long, such as 30m or 2h (default: until resume)';
const reasonText = v.pipe(v.string(), v.regex(/^.{1,200}$/s, 'expected a text of 1 to 200 characters'));
const resumeWords = (name: string | undefined): string => (name === undefined ? 'resume' : `resume ${name}`);

export const addPause = defineCommand(
  {
    help: `send no requests to the partner service for a while
From at most 5 seconds later nothing is asked of the partner service for NAME, or without NAME for anyone.
Tokens are still refreshed. Changes wait, and none is given up for it. Given again, the later pause holds. A
pause of the whole bridge and one of a partner account are kept apart: both have to be over.

Examples:
  $0 pause main --for 2h --reason "their migration" --local .advert-bridge`,
    options: {
      name: optionalName('only this partner account'),
      for: option('DURATION', forHelp, v.optional(durationOption)),
      reason: option('TEXT', 'why, for those who see it in status', v.optional(reasonText)),
    },
  },
  async ({ target, options: { name, for: forMs, reason }, report, command }) => {
    const paused = await withBridge(target, (bridge) => pause(bridge, name, { forMs, reason }));
    return report(
      { partnerAccount: name ?? null, paused },
      `Paused ${name ?? 'the whole bridge'} until ${paused.until ?? 'somebody resumes it'}, as ${paused.who}.`,
      `To end that: ${command(resumeWords(name))}`,
    );
  },
);

export const addResume = defineCommand(
  {
    help: `end a pause
Ends the pause of NAME, or without NAME that of the whole bridge. What waited begins to be published within a
minute. --early is for when you know that the service is ready: if it is not, it asks for the next pause. Exit
code 3: the whole bridge is still paused. With --advert no pause ends: the advert, which has failed, is asked for once
more. If the service says again that it is gone, or answers badly, that is believed: it is gone, or a dead letter.

Examples:
  $0 resume --early   (the deployed stack)
  $0 resume main --advert 123 --local .advert-bridge`,
    options: {
      name: optionalName('only this partner account'),
      early: flag(
        'end also a pause that the service asked for, an open circuit, and a pause for a bad token',
      ),
      advert: option('ID', 'have this advert of NAME tried, and believe the answer', v.optional(advertId)),
    },
  },
  async ({ target, options: { name, early, advert }, report, command }) => {
    if (advert !== undefined) {
      if (name === undefined || early) throw new UsageError('--advert needs NAME, and goes without --early');
      const messages = await withBridge(target, (bridge) => believe(bridge, name, advert));
      if (messages === 0) throw failed('not-failing', { name, advert }, target);
      const soon = `Advert ${advert} is tried again within a minute, once no pause or stop holds it, and the answer is believed.`;
      return report({ partnerAccount: name, advertId: advert, messages }, soon);
    }
    const resumed = await withBridge(target, (bridge) => resume(bridge, name, { early }));
    const { ended, servicePauseUntil, circuitEnded, accountHoldsEnded, stillPaused, stillHeldUntil } =
      resumed;
    const what = name ?? 'The whole bridge';
    const isWaitOver = circuitEnded || servicePauseUntil !== null || accountHoldsEnded.length > 0;
    const lines = ended ? [`${what} is resumed.`, ...factTable([ended])] : [];
    if (isWaitOver) lines.push(`${what} no longer waits because of what the service answered.`);
    else if (!ended) lines.push(`${what} was not paused by anybody.`);
    if (stillPaused)
      lines.push(
        `The whole bridge is still paused, by ${stillPaused.who} since ${stillPaused.since}. To end that: ${command('resume')}`,
      );
    if (stillHeldUntil)
      lines.push(
        `It still waits until ${stillHeldUntil}: the service asked for it, blocks the address or refuses a token. If you know that the service is ready: ${command(`${resumeWords(name)} --early`)}`,
      );
    report({ partnerAccount: name ?? null, ...resumed }, ...lines);
    return stillPaused ? exitCodes.needsPerson : exitCodes.done;
  },
);
