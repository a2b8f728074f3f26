import type { PollAnswer } from '../../../shared/contract/invocations.ts';
import { isDelivering } from '../../operations/bridge.ts';
import { requireKnown } from '../../operations/errors.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { type ExitCode, exitCodes } from '../shared/io.ts';
import { optionalName } from '../shared/options.ts';
import { factTable } from '../shared/wording.ts';

export const addPoll = defineCommand(
  {
    help: `poll the feed now
Tells how each poll ended. Exit code 1: a feed could not be read, or the service asked for a pause; 3: one was
not asked, because its account is stopped, or an operator paused it.

Examples:
  $0 poll main --local .advert-bridge`,
    options: { name: optionalName('only this partner account') },
  },
  ({ target, options: { name }, answer, command }) =>
    withBridge(target, async (bridge) => {
      await requireKnown(bridge.partnerAccounts, name);
      const found = await bridge.poll(name);
      const lines = [...factTable(found.polls), ...factTable(found.notPolled)];
      if (lines.length === 0)
        lines.push(`Nothing is connected. To connect: ${command(`connect ${name ?? 'NAME'}`)}`);
      if (!isDelivering(bridge) && found.polls.some(({ listed }) => listed > 0))
        lines.push(`To publish what was listed: ${command('run')}`);
      answer(found, ...lines);
      return exitCodeOf(found);
    }),
);

/** A feed that was not polled waits for an operator or for the end of a pause. */
function exitCodeOf({ polls, notPolled }: PollAnswer): ExitCode {
  const faults = polls.filter(({ end }) => end === 'fault');
  if (faults.some(({ fault }) => fault !== 'operator-paused')) return exitCodes.fault;
  const areAllPolled = polls.length > 0 && faults.length + notPolled.length === 0;
  return areAllPolled ? exitCodes.done : exitCodes.needsPerson;
}
