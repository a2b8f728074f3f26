import { linesOf } from '../../../shared/domain/text.ts';
import { isDelivering } from '../../operations/bridge.ts';
import { requireKnown } from '../../operations/errors.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { eventOutput } from '../shared/event-output.ts';
import { exitCodes, flushedBefore, say, stream, untilUnread } from '../shared/io.ts';
import { optionalName } from '../shared/options.ts';

export const addTail = defineCommand(
  {
    help: `show events as they are published
Until Ctrl-C: a line each for people on a terminal; JSON, as subscribers get it, otherwise, and with --json.
On a stack a rule and a queue of its own bring the events, out of order and twice at times, as to any
subscriber. Both are removed at the end; what a killed tail left behind, the next one removes.

Examples:
  $0 tail main --local .advert-bridge | head -1`,
    options: { name: optionalName('only those of this partner account') },
  },
  async ({ io, target, options: { name }, json }) => {
    const stopped = io.untilStopped();
    const signal = AbortSignal.any([stopped, untilUnread(io)]);
    const output = eventOutput(io, json);
    await withBridge(target, async (bridge) => {
      await requireKnown(bridge.partnerAccounts, name);
      if (!isDelivering(bridge))
        say(io, `No bridge runs in ${bridge.name} now: its events appear here once it does.`);
      for await (const events of bridge.events(name, { signal, say: (text) => say(io, text) })) {
        if (events.length > 0) await stream(output, linesOf(events), signal);
      }
    });
    await flushedBefore(stopped, io);
    return exitCodes.done;
  },
);
