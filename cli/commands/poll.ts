import { requireKnown } from '../../operations/errors.ts';
import type { PollAnswer } from '../../shared/contract/invocations.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { type ExitCode, exitCodes } from '../shared/io.ts';
import { optionalName } from '../shared/options.ts';
import { commandFor, type Target } from '../shared/target.ts';
import { count } from '../shared/wording.ts';

export const addPoll = defineCommand(
  {
    summary: 'poll the feed now',
    description:
      'Polls the feed of NAME, or of every partner account, now, and tells how each poll ended. One that is stopped or ' +
      'paused is not asked.',
    more: `Exit code 1: a feed could not be read; 3: one was not asked.

Examples:
  advert-bridge poll main --local .advert-bridge
  advert-bridge poll --json   (the deployed stack)`,
    options: { name: optionalName('only this partner account') },
  },
  async ({ target, options: { name }, answer }) => {
    const { found, isDelivering } = await withBridge(target, async (bridge) => {
      await requireKnown(bridge.partnerAccounts, name);
      return { found: await bridge.poll(name), isDelivering: bridge.isDelivering() };
    });
    answer(found, ...pollLines(target, name, found, isDelivering));
    return exitCodeOf(found);
  },
);

/** A feed that was not polled waits for an operator or for the end of a pause. */
function exitCodeOf({ polls: ended, notPolled }: PollAnswer): ExitCode {
  if (ended.some(({ end, fault }) => end === 'fault' && fault !== 'operator-paused')) return exitCodes.fault;
  const isAsked = ended.length > 0 && ended.every(({ end }) => end !== 'fault');
  return isAsked && notPolled.length === 0 ? exitCodes.done : exitCodes.needsPerson;
}

const ends: Readonly<Record<string, string>> = {
  'up-to-date': 'read to its end',
  'out-of-time': 'there is more, and the next poll continues',
  'turn-over': 'there is more, and the next poll continues',
  backlog: 'not read further, because too many of its messages wait in the queue',
  'lease-lost': 'another poll has taken over',
  'just-polled': 'another poll has just read it',
  held: 'another poll is reading it now',
  'unknown-feed': 'the feed is gone: the partner account was just disconnected',
  fault: 'not read',
};

function pollLines(
  target: Target,
  name: string | undefined,
  { polls: ended, notPolled }: PollAnswer,
  isDelivering: boolean,
): string[] {
  const lines = ended.map((poll) => {
    const how = Object.hasOwn(ends, poll.end) ? ends[poll.end] : poll.end;
    const why = poll.end === 'held' ? ` (${poll.by})` : poll.end === 'fault' ? `: ${poll.reason}` : '';
    return `${poll.partnerAccount} (${poll.feed}): ${count(poll.listed)} adverts listed, ${how}${why}`;
  });
  for (const { partnerAccount, reason, until } of notPolled) {
    lines.push(`${partnerAccount}: not polled (${reason}${until === undefined ? '' : `, until ${until}`})`);
  }
  if (lines.length === 0) {
    const command = commandFor(target, `connect ${name ?? 'NAME'}`);
    return [`${name ?? 'No partner account'} is ${name ? 'not ' : ''}connected. Connect it: \`${command}\``];
  }
  const isListed = ended.some(({ listed }) => listed > 0);
  if (isListed && !isDelivering) lines.push(`To publish what was listed: \`${commandFor(target, 'run')}\``);
  return lines;
}
