import type { PollAnswer } from '../../../shared/contract/poll.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';

export const more = `Tells how each poll ended. On a stack the drain function asks, within 45 seconds; what it does not come to is read by its next
run. A partner account that is stopped or paused is not asked. Exit code 1: a feed could not be read; 3: one was not asked.

Examples:
  advert-bridge poll main --local .advert-bridge
  advert-bridge poll --json   (the deployed stack)`;

type Poll = PollAnswer['polls'][number];

const ends: Readonly<Record<string, (poll: Poll) => string>> = {
  'up-to-date': () => 'read to its end',
  'out-of-time': () => 'there is more, and the next poll continues',
  'turn-over': () => 'there is more, and the next poll continues',
  backlog: () => 'not read further, because too many of its messages wait in the queue',
  'lease-lost': () => 'another poll has taken over',
  'just-polled': () => 'another poll has just read it',
  held: ({ by }) => `another poll is reading it now (${by})`,
  'unknown-feed': () => 'the feed is gone: the partner account was just disconnected',
  fault: ({ reason }) => `not read: ${reason}`,
};

export function pollLines(
  target: Target,
  name: string | undefined,
  { polls, notPolled }: PollAnswer,
  isDelivering: boolean,
): string[] {
  const listed = polls.reduce((sum, poll) => sum + poll.listed, 0);
  const lines = [
    ...polls.map((poll) => {
      const { partnerAccount, feed, end } = poll;
      const how = Object.hasOwn(ends, end) ? ends[end]?.(poll) : end;
      return `${partnerAccount} (${feed}): ${count(poll.listed)} adverts listed, ${how}`;
    }),
    ...notPolled.map(
      ({ partnerAccount, reason, until }) =>
        `${partnerAccount}: not polled (${reason}${until === undefined ? '' : `, until ${until}`})`,
    ),
  ];
  if (lines.length === 0) {
    const command = commandFor(target, `connect ${name ?? 'NAME'}`);
    return [`${name ?? 'No partner account'} is ${name ? 'not ' : ''}connected. Connect it: \`${command}\``];
  }
  if (listed > 0 && !isDelivering) lines.push(`To publish what was listed: \`${commandFor(target, 'run')}\``);
  return lines;
}
