import { type Audited, auditSource, listSource } from '../../operations/advert-sources.ts';
import { audit } from '../../operations/audit.ts';
import { catchUp, pagingOptions, readIds, walkText } from '../bridge/catch-up.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, say } from '../shared/io.ts';
import { flag, nameArgument, optionalNumber, text } from '../shared/options.ts';
import { are, count, factTable } from '../shared/wording.ts';

/** A minute at the default rate. */
const defaultSample = 300;
const sampleHelp = `number of adverts, chosen at random (default: ${defaultSample})`;

export const addAudit = defineCommand(
  {
    help: `check what was published against the service, and publish what differs
Sends published adverts through the bridge again, and tells which of them differed. The bridge must be
running; at most half of the request rate is used. Ctrl-C stops the audit, and the same command goes on. Exit
code 3: some adverts wait or were given up, or it was stopped.

Examples:
  $0 audit main --full   (the deployed stack)
  $0 audit main --ids adverts.txt --json`,
    options: {
      partnerAccount: nameArgument,
      sample: { ...optionalNumber(sampleHelp, 1, 1_000_000), conflicts: ['full', 'ids'] },
      full: flag('every published advert, and every other advert of the service', 'ids'),
      ids: text('FILE', 'the adverts in FILE, one ID per line; - is standard input'),
      ...pagingOptions,
    },
  },
  async (call) => {
    const { io, options, answer, command } = call;
    const { partnerAccount, sample = defaultSample, full, ids } = options;
    const given = ids === undefined ? undefined : await readIds(io, ids);
    const signal = io.untilStopped();
    const [{ end, progress }, next] = await catchUp(call, partnerAccount, async (bridge, key, show) => {
      const rate = (await bridge.settings()).maxRequestsPerSecond / 2;
      let audited: Audited = { sample, random: Math.random };
      if (given) audited = { ids: given };
      else if (full) audited = { list: listSource(bridge, key, options) };
      return audit(bridge, {
        key,
        source: await auditSource(bridge, key, audited),
        signal,
        onProgress({ listed, total, waiting, differing, differed = 0 }) {
          const all = differed + differing.length;
          const differ = all === 0 ? '' : `; ${count(all)} differed`;
          show(`${walkText(listed - waiting.length, total, 'audited', rate)}${differ}`);
        },
      });
    });
    const { equal, differing, neverPublished, waiting, unsettled, listed, total } = progress;
    const checked = equal + differing.length + neverPublished.length;
    answer(
      { partnerAccount, checked, equal, differing, neverPublished },
      ...factTable(differing),
      ...factTable(neverPublished.map((advertId) => ({ neverPublished: advertId }))),
      `${are(checked, 'advert', 'adverts')} audited: ${are(equal)} as published, ${count(differing.length)} differed, ` +
        `${are(neverPublished.length, 'was', 'were')} never published.`,
    );
    if (end !== 'done') {
      const of = total === undefined ? '' : ` of ${count(total)}`;
      say(io, `Stopped after ${count(listed)}${of} adverts; the same command goes on from there. ${next}`);
    } else if (waiting.length + unsettled.length > 0) {
      const left = are(unsettled.length, 'advert waits or was given up', 'adverts wait or were given up');
      say(io, `${left}: ${command(`dead-letters list ${partnerAccount}`)}`);
    } else return exitCodes.done;
    return exitCodes.needsPerson;
  },
);
