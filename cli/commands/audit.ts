import { auditedIds, fullSource, listSource, sampleSource } from '../../operations/advert-sources.ts';
import { audit } from '../../operations/audit.ts';
import { UsageError } from '../../operations/errors.ts';
import type { WalkResult } from '../../operations/walk.ts';
import type { AuditProgress, Difference } from '../../shared/state/progress.ts';
import { connectedAccount, waitingLine } from '../bridge/connected-account.ts';
import { withBridge } from '../bridge/open.ts';
import { pagingOptions, readIds } from '../shared/advert-sources.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, say } from '../shared/io.ts';
import { flag, nameArgument, optionalNumber, text } from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import { commandFor, type Target } from '../shared/target.ts';
import { are, count, duration } from '../shared/wording.ts';

/** A minute at the default rate. */
const defaultSample = 300;

const more = `The bridge must be running; at most half of the request rate is used. Ctrl-C
stops the audit, and the same command goes on. Exit code 3: some adverts wait or
were given up, or it was stopped.

Examples:
  advert-bridge audit main --local .advert-bridge
  advert-bridge audit main --full   (the deployed stack)
  advert-bridge audit main --ids adverts.txt --json`;

export const addAudit = defineCommand(
  {
    name: 'audit',
    group: 'act',
    summary: 'check what was published against the service, and publish what differs',
    description:
      'Sends adverts that were published through the bridge again, and tells which of them differed from the partner service.',
    more,
    args: { partnerAccount: nameArgument },
    options: {
      sample: optionalNumber(`number of adverts, chosen at random (default: ${defaultSample})`, 1, 1_000_000),
      full: flag('every published advert, and every other advert of the service'),
      ids: text('FILE', 'the adverts in FILE, one ID per line; - is standard input'),
      ...pagingOptions,
    },
  },
  async ({ io, target, args: { partnerAccount }, options, answer }) => {
    const { sample, full, ids, paging, ...parameters } = options;
    if ([sample !== undefined, full, ids !== undefined].filter(Boolean).length > 1) {
      throw new UsageError(
        '--sample, --full and --ids exclude each other: each says which adverts are audited',
      );
    }
    const given = ids === undefined ? undefined : await readIds(io, ids);
    const signal = io.untilStopped();
    const { result, next } = await withBridge(
      target,
      async (bridge) => {
        const { generation } = await connectedAccount(bridge, partnerAccount, target);
        const key = { partnerAccount, generation };
        const { maxRequestsPerSecond } = await bridge.settings();
        const result = await withProgress(io, async (show) => {
          const list = listSource(bridge, key, { style: paging, ...parameters });
          const drawn = { size: sample ?? defaultSample, random: Math.random };
          const source = given
            ? auditedIds(bridge, given)
            : full
              ? fullSource(bridge, key, list)
              : sampleSource(bridge, key, drawn);
          return audit(bridge, key, await source, {
            signal,
            onProgress: (progress) => show(progressText(progress, maxRequestsPerSecond)),
          });
        });
        return { result, next: await waitingLine(bridge, target, partnerAccount) };
      },
      { isCatchUp: true },
    );
    const { equal, differing, neverPublished, waiting, unsettled } = result.progress;
    const checked = equal + differing.length + neverPublished.length;
    answer(
      { partnerAccount, checked, equal, differing, neverPublished },
      ...resultLines(checked, result.progress),
    );
    const isHandled = result.end === 'done' && waiting.length + unsettled.length === 0;
    if (!isHandled) say(io, leftText(target, partnerAccount, result, next));
    return isHandled ? exitCodes.done : exitCodes.needsPerson;
  },
);

function progressText({ listed, total, waiting, differing }: AuditProgress, rate: number): string {
  const audited = listed - waiting.length;
  const of = total === undefined ? '' : ` of ${count(total)}`;
  const left =
    total === undefined ? '' : `, ${duration((total - audited) / (rate / 2))} left at ${rate / 2}/s`;
  const differ = differing.length === 0 ? '' : `, ${are(differing.length, 'differed', 'differed')}`;
  return `${count(audited)}${of} adverts audited${differ}${left}`;
}

function resultLines(checked: number, { equal, differing, neverPublished }: AuditProgress): string[] {
  if (checked === 0) return ['No advert was audited.'];
  return [
    ...differing.map(differenceText),
    ...neverPublished.map((advertId) => `${advertId}: had no event`),
    `${are(checked, 'advert', 'adverts')} audited: ${are(equal)} as published, ${count(differing.length)} differed, ` +
      `${are(neverPublished.length, 'was', 'were')} never published.`,
  ];
}

function differenceText({ advertId, published, actual }: Difference): string {
  const [before, now] = [published, actual].map((status) =>
    status === null ? 'unavailable' : `"${status}"`,
  );
  return `${advertId}: published as ${before}, now as ${now}`;
}

/** Why the audit is not complete, and what to do. */
function leftText(
  target: Target,
  name: string,
  { end, progress }: WalkResult<AuditProgress>,
  next: string,
): string {
  const { unsettled } = progress;
  if (end === 'done') {
    const left = are(unsettled.length, 'advert waits or was given up', 'adverts wait or were given up');
    return `${left}: \`${commandFor(target, `dead-letters list ${name}`)}\``;
  }
  const listed = progress.total === undefined ? '' : ` of ${count(progress.total)}`;
  return `Stopped after ${count(progress.listed)}${listed} adverts; the same command goes on from there. ${next}`;
}
