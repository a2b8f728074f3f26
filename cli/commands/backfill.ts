import { idsSource, listSource } from '../../operations/advert-sources.ts';
import { CommandError, UsageError } from '../../operations/errors.ts';
import { backfill, pauseWalk } from '../../operations/walk.ts';
import type { BackfillProgress } from '../../shared/state/progress.ts';
import { connectedAccount, waitingLine } from '../bridge/connected-account.ts';
import { withBridge } from '../bridge/open.ts';
import { pagingOptions, readIds } from '../shared/advert-sources.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, say } from '../shared/io.ts';
import { flag, nameArgument, text } from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import { commandFor, type Target } from '../shared/target.ts';
import { count, duration } from '../shared/wording.ts';

/** Number of adverts of a file that go to the queue at once. */
const idsAtOnce = 100;

export const addBackfill = defineCommand(
  {
    name: 'backfill',
    group: 'act',
    summary: 'fetch every advert once',
    description:
      'Fetches every advert of a partner account once. An advert without events gets its first event, and an advert whose ' +
      'status differs from its latest event gets the next one (cause "backfill").',
    more: `Only while few messages wait, so that live changes are hardly delayed; without a
\`run\`, it stops when the queue is full. Ctrl-C,
or --stop from another terminal, stops after the current page; the same command
goes on from there, also after a crash. Exit code 3: stopped before the end, or
something in the list was no ID.

Examples:
  advert-bridge backfill main   (the deployed stack)
  advert-bridge backfill main --ids adverts.txt --local .advert-bridge
  advert-bridge backfill main --stop`,
    args: { partnerAccount: nameArgument },
    options: {
      ids: text('FILE', 'fetch the adverts in FILE, one ID per line; - is standard input'),
      restart: flag('abandon an unfinished backfill and start again'),
      stop: flag('stop the backfill that is running elsewhere, after its current page'),
      ...pagingOptions,
    },
  },
  async ({ io, target, args: { partnerAccount }, options, report }) => {
    const { ids, restart, stop, paging, ...parameters } = options;
    if (stop && (ids !== undefined || restart)) {
      throw new UsageError('--stop goes with no other option: it stops a backfill that is running');
    }
    const given = ids === undefined || stop ? undefined : await readIds(io, ids);
    const signal = stop ? undefined : io.untilStopped();
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
        const source = given
          ? idsSource(given, idsAtOnce)
          : listSource(bridge, key, { style: paging, ...parameters });
        const { maxRequestsPerSecond } = await bridge.settings();
        const { end, progress } = await withProgress(io, (show) =>
          backfill(bridge, key, source, {
            ...{ signal, restart },
            onProgress: (now, isWaiting) => show(progressText(now, isWaiting, maxRequestsPerSecond)),
          }),
        );
        if (end === 'other-source') throw new CommandError(otherSourceText(partnerAccount, progress));
        const { listed, malformed, startedAt } = progress;
        report(
          { partnerAccount, end, listed, malformed, startedAt },
          end === 'done'
            ? `${count(listed)} adverts were put into the queue: each is fetched in its turn.`
            : stoppedText(target, partnerAccount, end, listed),
          await waitingLine(bridge, target, partnerAccount),
        );
        if (malformed > 0) say(io, malformedText(malformed));
        return end === 'done' && malformed === 0 ? exitCodes.done : exitCodes.needsPerson;
      },
      { isCatchUp: true },
    );
  },
);

function progressText({ listed, total }: BackfillProgress, isWaiting: boolean, rate: number): string {
  const of = total === undefined ? '' : ` of ${count(total)}`;
  const left = total === undefined ? '' : `, ${duration((total - listed) / rate)} left at ${rate}/s`;
  return `${count(listed)}${of} adverts listed${left}${isWaiting ? ', waiting for the queue to empty' : ''}`;
}

const pausedText = (target: Target, name: string, { listed }: BackfillProgress): string =>
  `Paused after ${count(listed)} adverts. To continue: \`${commandFor(target, `backfill ${name}`)}\``;

const otherSourceText = (name: string, { startedAt, source }: BackfillProgress): string =>
  `an unfinished backfill of ${name}, started at ${startedAt}, takes its adverts from another source ` +
  `(${source}). Finish it, or abandon it with --restart`;

function stoppedText(target: Target, name: string, end: string, listed: number): string {
  if (end === 'taken-over')
    return `Stopped: another process continues the backfill of ${name}, or has started it again.`;
  const why = end === 'stuck' ? ', because no `run` takes them from the queue' : '';
  return `Stopped after ${count(listed)} adverts${why}. To continue: \`${commandFor(target, `backfill ${name}`)}\` with the same options.`;
}

const malformedText = (malformed: number): string =>
  `${count(malformed)} entries of the list have no advert ID and were skipped.`;
