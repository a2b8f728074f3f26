import { requireKnown } from '../../../operations/unknown-account.ts';
import type { PollAnswer } from '../../../shared/contract/poll.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import { type ExitCode, exitCodes } from '../../shared/io.ts';
import { optionalName } from '../../shared/options.ts';
import { more, pollLines } from './text.ts';

export const addPoll = defineCommand(
  {
    name: 'poll',
    summary: 'poll the feed now',
    description: 'Polls the feed of NAME, or of every partner account, immediately.',
    more,
    args: { name: optionalName('only this partner account') },
  },
  async ({ target, args: { name }, answer }) => {
    const { found, isDelivering } = await withBridge(target, async (bridge) => {
      await requireKnown(bridge.partnerAccounts, name);
      return { found: await bridge.functions.poll(name), isDelivering: bridge.isDelivering() };
    });
    answer(found, ...pollLines(target, name, found, isDelivering));
    return exitCodeOf(found);
  },
);

/**
 * A feed that could not be read is a fault. A feed that was not polled waits for an operator or for the end of a pause.
 */
function exitCodeOf({ polls: ended, notPolled }: PollAnswer): ExitCode {
  if (ended.some(({ end, fault }) => end === 'fault' && fault !== 'operator-paused')) return exitCodes.fault;
  const isAsked = ended.length > 0 && ended.every(({ end }) => end !== 'fault');
  return isAsked && notPolled.length === 0 ? exitCodes.done : exitCodes.needsPerson;
}
