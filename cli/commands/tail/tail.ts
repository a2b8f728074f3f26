import * as v from 'valibot';
import { accountsBeside, unknownAccount } from '../../../operations/unknown-account.ts';
import { partnerAccountName } from '../../../shared/contract/checks.ts';
import { linesOf } from '../../../shared/domain/text/printable-lines.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes, say, stream } from '../../shared/io.ts';
import { tails } from '../../targets/needs.ts';
import { withBridge } from '../../targets/open.ts';
import { more } from './text.ts';

export const addTail = defineCommand(
  {
    name: 'tail',
    summary: 'show events as they are published',
    description: 'Shows events as they are published, one line of JSON each, until Ctrl-C.',
    more,
    argument: {
      syntax: '[NAME]',
      help: 'only those of this partner account',
      schema: v.optional(partnerAccountName),
    },
    isWithoutJson: true,
  },
  async ({ io, target, argument: name }) => {
    const readerGone = new AbortController();
    io.stdout.once('error', () => readerGone.abort());
    const signal = AbortSignal.any([io.untilStopped(), readerGone.signal]);
    await withBridge(target, tails, async (tail) => {
      const known = await accountsBeside(tail.accounts, name);
      if (name !== undefined && !known.some((account) => account.name === name)) throw unknownAccount(known);
      for await (const events of tail.events(name, { signal, say: (text) => say(io, text) })) {
        if (events.length > 0) await stream(io, linesOf(events), signal);
      }
    });
    return exitCodes.done;
  },
);
