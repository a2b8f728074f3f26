import * as v from 'valibot';
import { UsageError } from '../../operations/errors.ts';
import { type Resynced, resync } from '../../operations/resync.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { connectedAccount, waitingLine } from '../bridge/connected-account.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes } from '../shared/io.ts';
import { durationOption, momentOption, nameArgument, option } from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import { count } from '../shared/wording.ts';

/** How long ago, or a time. */
const sinceOption = v.union(
  [
    v.pipe(
      durationOption,
      v.transform((ms) => toInstant(Date.now() - ms)),
    ),
    momentOption,
  ],
  'expected how long ago, such as 2h, or a time with its zone, such as 2026-11-20T12:00:00Z',
);

export const addResync = defineCommand(
  {
    name: 'resync',
    group: 'act',
    summary: 'read the feed again from a time',
    description:
      "Reads a partner account's feed again from a time, and continues from there: for when changes may have been missed.",
    more: `Each advert that the feed lists is fetched again (cause "resync"); one whose
status was published already gets no event. If the service refuses TIME,
nothing has changed. Ctrl-C stops after the current page, and the bridge
continues from there. Where older changes are still unread, reading begins
at those.

Examples:
  advert-bridge resync main --since 2h --local .advert-bridge
  advert-bridge resync main --since 2026-11-20T12:00:00Z   (the deployed stack)`,
    args: { name: nameArgument },
    options: {
      since: option(
        'TIME',
        'where reading begins: how long ago, such as 2h, or a time (required)',
        sinceOption,
      ),
    },
  },
  async ({ io, target, args: { name }, options: { since }, report }) => {
    if (Date.parse(since) > Date.now()) {
      throw new UsageError(`--since: ${since} is in the future by this machine's clock`);
    }
    const signal = io.untilStopped();
    const [result, next] = await withBridge(
      target,
      async (bridge) => {
        await connectedAccount(bridge, name, target);
        const ended = await withProgress(io, (show) =>
          resync(bridge, name, since, {
            signal,
            onProgress: (listed, waitsFor) => show(progressText(listed, waitsFor)),
          }),
        );
        return [ended, await waitingLine(bridge, target, name)] as const;
      },
      { isCatchUp: true },
    );
    report({ partnerAccount: name, ...result }, ...resyncedLines(name, result, next));
    return result.finished ? exitCodes.done : exitCodes.needsPerson;
  },
);

function progressText(listed: number, waitsFor: 'feed' | 'queue' | undefined): string {
  if (waitsFor === 'feed') return 'waiting for the bridge to finish its own reading of the feed';
  return `${count(listed)} adverts listed${waitsFor ? ', waiting for the queue to empty' : ''}`;
}

function resyncedLines(name: string, { since, listed, finished }: Resynced, next: string): string[] {
  if (finished) {
    return [
      `Read the feed of ${name} again since ${since}: ${count(listed)} adverts are fetched again.`,
      next,
    ];
  }
  if (listed === 0) return ['Stopped before anything was changed.'];
  return [`Stopped after ${count(listed)} adverts: the bridge continues from there.`];
}
