import { idsSource, listSource } from '../../operations/advert-sources.ts';
import { backfill } from '../../operations/walk.ts';
import { catchUp, pagingOptions, readIds, walkText } from '../bridge/catch-up.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, say } from '../shared/io.ts';
import { flag, nameArgument, text } from '../shared/options.ts';
import { count } from '../shared/wording.ts';

const idsAtOnce = 100;

export const addBackfill = defineCommand(
  {
    help: `fetch every advert once
An advert without events gets its first event, and one whose status differs from its latest event the next
(cause "backfill"). Only while few messages wait; without a \`run\`, it stops when the queue is full. Ctrl-C
stops after the current page; the same command goes on from there. Exit code 3: stopped before the end, or an
entry of the service's list had no ID; 1: a line of FILE is no ID, and nothing was listed.

Examples:
  $0 backfill main --ids adverts.txt --local .advert-bridge`,
    options: {
      partnerAccount: nameArgument,
      ids: text('FILE', 'fetch the adverts in FILE, one ID per line; - is standard input'),
      restart: flag('abandon an unfinished backfill and start again'),
      ...pagingOptions,
    },
  },
  async (call) => {
    const { io, options, report, command } = call;
    const { partnerAccount, ids, restart } = options;
    const again = `To continue: ${command(`backfill ${partnerAccount}`)}`;
    const given = ids === undefined ? undefined : await readIds(io, ids);
    const signal = io.untilStopped();
    const [{ end, progress }, next] = await catchUp(call, partnerAccount, async (bridge, key, show) => {
      const { maxRequestsPerSecond } = await bridge.settings();
      const source = given ? idsSource(given, idsAtOnce) : listSource(bridge, key, options);
      return backfill(bridge, {
        key,
        source,
        signal,
        restart,
        onProgress({ listed, total }, isWaiting) {
          const waits = isWaiting ? ', waiting for the queue to empty' : '';
          show(`${walkText(listed, total, 'listed', maxRequestsPerSecond)}${waits}`);
        },
      });
    });
    const { listed, malformed, startedAt } = progress;
    let says = `Stopped after ${count(listed)} adverts. ${again} with the same options.`;
    if (end === 'done')
      says = `${count(listed)} adverts were put into the queue: each is fetched in its turn.`;
    if (end === 'stuck') says += ` First, start a \`run\`, which takes them from the queue.`;
    if (end === 'taken-over')
      says = `Stopped: another process continues the backfill of ${partnerAccount}, or has started it again.`;
    report({ partnerAccount, end, listed, malformed, startedAt }, says, next);
    if (malformed > 0) say(io, `${count(malformed)} entries of the list have no advert ID and were skipped.`);
    return end === 'done' && malformed === 0 ? exitCodes.done : exitCodes.needsPerson;
  },
);
