import { backfill } from '../../../operations/backfill.ts';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import { pollDepsOf } from '../../../operations/poll-deps.ts';
import { pauseWalk } from '../../../operations/walk.ts';
import { connectedAccount } from '../../bridge/connected-account.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes, say } from '../../shared/io.ts';
import { flag, nameArgument, text } from '../../shared/options.ts';
import { withProgress } from '../../shared/progress.ts';
import { fileSource, listSource } from './advert-sources.ts';
import { pagingOptions } from './paging-options.ts';
import { endedLines, malformedText, more, otherSourceText, pausedText, progressText } from './text.ts';

/** Live changes wait behind at most this many messages and one page: about a minute at the default rate. */
const maxWaiting = 500;
const lookMs = 1_000;

export const addBackfill = defineCommand(
  {
    name: 'backfill',
    summary: 'fetch every advert once',
    description:
      'Fetches every advert of a partner account once. An advert without events gets its first event, and an advert whose ' +
      'status differs from its latest event gets the next one (cause "backfill").',
    more,
    args: { partnerAccount: nameArgument },
    options: {
      ids: text('FILE', 'fetch the adverts in FILE, one ID per line; - is standard input'),
      restart: flag('abandon an unfinished backfill and start again'),
      pause: flag('stop the backfill that is running elsewhere, after its current page'),
      ...pagingOptions,
    },
  },
  async ({ io, target, args: { partnerAccount }, options, report }) => {
    const { ids, restart, pause, paging, ...parameters } = options;
    if (pause && (ids !== undefined || restart)) {
      throw new UsageError('--pause goes with no other option: it stops a backfill that is running');
    }
    const fromFile = ids === undefined || pause ? undefined : await fileSource(io, ids);
    const signal = pause ? undefined : io.untilStopped();
    return withBridge(
      target,
      async (bridge) => {
        const { generation } = await connectedAccount(bridge, partnerAccount, target);
        const key = { partnerAccount, generation };
        if (!signal) {
          const paused = await pauseWalk(bridge.backfills, key);
          if (!paused) throw new CommandError(`no backfill of ${partnerAccount} is running`);
          report({ partnerAccount, end: 'paused', ...paused }, pausedText(target, partnerAccount, paused));
          return exitCodes.done;
        }
        const poll = await pollDepsOf(bridge, 'backfill');
        const { end, progress } = await withProgress(io, (show) =>
          backfill(
            {
              ...poll,
              progresses: bridge.backfills,
              // If nothing consumes the queue, no live change waits behind these messages.
              maxWaiting: bridge.isDelivering() ? maxWaiting : Number.POSITIVE_INFINITY,
              lookMs,
              onProgress: ({ listed, total }, isWaiting) => show(progressText(listed, total, isWaiting)),
            },
            key,
            fromFile ?? listSource(bridge, key, { style: paging, ...parameters }),
            { signal, restart },
          ),
        );
        if (end === 'other-source') throw new CommandError(otherSourceText(partnerAccount, progress));
        const { listed, malformed, startedAt } = progress;
        report(
          { partnerAccount, end, listed, malformed, startedAt },
          ...endedLines(target, partnerAccount, end, listed),
        );
        if (malformed > 0) say(io, malformedText(malformed));
        return end === 'done' && malformed === 0 ? exitCodes.done : exitCodes.needsPerson;
      },
      { isCatchUp: true },
    );
  },
);
