import { type AuditResult, audit } from '../../../functions/audit/audit.ts';
import { type AuditSource, sampleSource } from '../../../functions/audit/sources.ts';
import { repairBy } from '../../../operations/audit/repair.ts';
import { fullSource, namedSource } from '../../../operations/audit/sources.ts';
import { boundOf, leftOver } from '../../../operations/audit/verdict.ts';
import { UsageError } from '../../../operations/errors.ts';
import { unknownFeed } from '../../../operations/resync.ts';
import { bridgeSettings } from '../../../shared/contract/settings.ts';
import type { BackfillKey } from '../../../shared/ports/backfills.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes, say } from '../../shared/io.ts';
import { flag, nameArgument, option, optionalNumber, settingSchema, text } from '../../shared/options.ts';
import { withProgress } from '../../shared/progress.ts';
import { connectedAccount } from '../../targets/connected-account.ts';
import { auditing, withBridge } from '../../targets/open.ts';
import type { Auditing } from '../../targets/ports/catch-up.ts';
import { fileSource, listSource } from '../backfill/advert-sources.ts';
import { pagingOptions } from '../backfill/paging-options.ts';
import { defaultSample, endedLines, findingLines, hintText, more, progressText } from './text.ts';

export const addAudit = defineCommand(
  {
    name: 'audit',
    summary: 'compare what was published with what the service says now',
    description:
      'Compares the last published status of randomly chosen adverts with the partner service, and estimates how many of ' +
      'all adverts may be wrong. A difference counts only if no recent change explains it.',
    more,
    args: { partnerAccount: nameArgument },
    options: {
      sample: optionalNumber(
        `number of adverts to compare, chosen at random (default: ${defaultSample})`,
        1,
        1_000_000,
      ),
      full: flag('compare every published advert, and look for adverts that were never published'),
      ids: text('FILE', 'compare the adverts in FILE, one ID per line; - is standard input'),
      repair: flag(
        'repair differences: each advert that differs gets its next event, with the cause "audit"',
      ),
      maxRequestsPerSecond: option(
        'N',
        'rate limit of the whole bridge (with --local; default: that of the latest `run`)',
        settingSchema(bridgeSettings.maxRequestsPerSecond),
      ),
      ...pagingOptions,
    },
  },
  async ({ io, target, args: { partnerAccount }, options, answer }) => {
    const { sample, full, ids, repair, paging, maxRequestsPerSecond: rate, ...parameters } = options;
    if ([sample !== undefined, full, ids !== undefined].filter(Boolean).length > 1) {
      throw new UsageError(
        '--sample, --full and --ids exclude each other: each says which adverts are compared',
      );
    }
    if (rate !== undefined && target.kind === 'stack') {
      throw new UsageError('--max-requests-per-second goes with --local: a stack has it as a setting');
    }
    const fromFile = ids === undefined ? undefined : await fileSource(io, ids);
    const signal = io.untilStopped();
    const sourceFor = (bridge: Auditing, key: BackfillKey): AuditSource => {
      if (fromFile) return namedSource(fromFile);
      if (!full) return sampleSource(bridge.publishedAdverts, key, sample ?? defaultSample);
      const list = listSource(bridge, key, { style: paging, ...parameters });
      return fullSource(bridge.publishedAdverts, key, list);
    };
    const { end, progress } = await withBridge(
      target,
      auditing(rate === undefined ? {} : { maxRequestsPerSecond: rate }),
      async (bridge): Promise<AuditResult> => {
        const { generation } = await connectedAccount(bridge.accounts, partnerAccount, target);
        const key = { partnerAccount, generation };
        const total = fromFile?.total ?? (full ? undefined : (sample ?? defaultSample));
        return withProgress(io, (show) =>
          audit(
            {
              ...bridge,
              onProgress: (step) => show(progressText(step, total)),
            },
            key,
            sourceFor(bridge, key),
            { signal, repair: repair ? repairBy(bridge.poll, key) : undefined },
          ),
        );
      },
    );
    if (end === 'unknown-feed') throw unknownFeed(partnerAccount);
    const { checked, equal, differing, neverPublished, undecided, repaired } = progress;
    const bound = end === 'done' ? boundOf(progress) : null;
    answer(
      { partnerAccount, end, checked, equal, differing, neverPublished, undecided, bound, repaired },
      ...findingLines(progress),
      ...endedLines(end, progress, bound),
    );
    const left = leftOver(progress);
    const hint = hintText(target, partnerAccount, { end, left, hasRepaired: repaired > 0 });
    if (hint !== undefined) say(io, hint);
    return end === 'done' && left === 0 ? exitCodes.done : exitCodes.needsPerson;
  },
);
