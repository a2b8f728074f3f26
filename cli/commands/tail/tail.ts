import { requireKnown } from '../../../operations/unknown-account.ts';
import { linesOf } from '../../../shared/domain/text/printable.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes, say, stream } from '../../shared/io.ts';
import { optionalName } from '../../shared/options.ts';
import { more } from './text.ts';

export const addTail = defineCommand(
  {
    name: 'tail',
    summary: 'show events as they are published',
    description: 'Shows events as they are published, one line of JSON each, until Ctrl-C.',
    more,
    args: { name: optionalName('only those of this partner account') },
    isWithoutJson: true,
  },
  async ({ io, target, args: { name } }) => {
    const readerGone = new AbortController();
    io.stdout.once('error', () => readerGone.abort());
    const signal = AbortSignal.any([io.untilStopped(), readerGone.signal]);
    await withBridge(target, async (bridge) => {
      await requireKnown(bridge.partnerAccounts, name);
      if (!bridge.isDelivering())
        say(io, `No bridge runs in ${bridge.name} now: its events appear here once it does.`);
      for await (const events of bridge.events(name, { signal, say: (text) => say(io, text) })) {
        if (events.length > 0) await stream(io, linesOf(events), signal);
      }
    });
    return exitCodes.done;
  },
);
