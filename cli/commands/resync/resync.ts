import { UsageError } from '../../../operations/errors.ts';
import { resync } from '../../../operations/resync.ts';
import { connectedAccount } from '../../bridge/connected-account.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes } from '../../shared/io.ts';
import { momentOption, nameArgument, option } from '../../shared/options.ts';
import { withProgress } from '../../shared/progress.ts';
import { more, progressText, resyncedLines } from './text.ts';

export const addResync = defineCommand(
  {
    name: 'resync',
    summary: 'read the feed again from a time',
    description:
      "Reads a partner account's feed again from a time, and continues from there: for when changes may have been missed.",
    more,
    args: { name: nameArgument },
    options: {
      since: option('TIME', 'where reading begins, with its time zone (required)', momentOption),
    },
  },
  async ({ io, target, args: { name }, options, report }) => {
    if (Date.parse(options.since) > Date.now()) {
      throw new UsageError(`--since: ${options.since} is in the future by this machine's clock`);
    }
    const signal = io.untilStopped();
    const result = await withBridge(
      target,
      async (bridge) => {
        await connectedAccount(bridge, name, target);
        return withProgress(io, (show) =>
          resync(bridge, name, options.since, {
            signal,
            onProgress: (listed, waitsFor) => show(progressText(listed, waitsFor)),
          }),
        );
      },
      { isCatchUp: true },
    );
    report({ partnerAccount: name, ...result }, ...resyncedLines(target, name, result));
    return result.finished ? exitCodes.done : exitCodes.needsPerson;
  },
);
