import { resync } from '../../operations/resync.ts';
import { catchUp } from '../bridge/catch-up.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes } from '../shared/io.ts';
import { nameArgument, option, pastMoment } from '../shared/options.ts';
import { count } from '../shared/wording.ts';

const sinceHelp = 'where reading begins: how long ago, such as 2h, or a time (required)';
const waits = {
  feed: ', waiting for the bridge to finish its own reading of the feed',
  queue: ', waiting for the queue to empty',
};

export const addResync = defineCommand(
  {
    help: `read the feed again from a time
Continues from there: for when changes may have been missed. Each advert that the feed lists is fetched again
(cause "resync"); one whose status was published already gets no event. Where older changes are still unread,
reading begins at those. If the service refuses TIME, nothing has changed. Ctrl-C stops after the current
page; the bridge continues from there.

Examples:
  $0 resync main --since 2h --local .advert-bridge`,
    options: { name: nameArgument, since: option('TIME', sinceHelp, pastMoment) },
  },
  async (call) => {
    const { report } = call;
    const { name, since: begin } = call.options;
    const signal = call.io.untilStopped();
    const [result, next] = await catchUp(call, name, (bridge, _key, show) =>
      resync(bridge, name, begin, {
        signal,
        onProgress: (listed, waitsFor) =>
          show(`${count(listed)} adverts listed${waitsFor ? waits[waitsFor] : ''}`),
      }),
    );
    const { since, listed, finished } = result;
    const data = { partnerAccount: name, ...result };
    if (finished) {
      const says = `Read the feed of ${name} again since ${since}: ${count(listed)} adverts are fetched again.`;
      return report(data, says, next);
    }
    report(data, `Stopped after ${count(listed)} adverts: the bridge continues from there.`);
    return exitCodes.needsPerson;
  },
);
