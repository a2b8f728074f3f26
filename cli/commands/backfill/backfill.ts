import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { type BackfillResult, backfill, pauseBackfill } from '../../../operations/backfill.ts';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import { partnerAccountName } from '../../../shared/contract/checks.ts';
import { advertsFeed } from '../../../shared/domain/feed.ts';
import { checkedOptions, wholeOption } from '../../shared/check-options.ts';
import type { AddCommand } from '../../shared/command.ts';
import { type ExitCode, exitCodes, give, type Io, say } from '../../shared/io.ts';
import { startProgress } from '../../shared/progress.ts';
import {
  commandFor,
  type Target,
  type TargetOptions,
  targetOf,
  withJson,
  withTarget,
} from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';
import { connectedAccount, withCatchUp } from '../../targets/catch-up.ts';
import { fileSource, type ListPaging, listSource } from './advert-sources.ts';

const help = `
The adverts come from the partner service's advert list, or from --ids. Each goes through the queue like one that the feed
named, and stands behind at most some hundred others, so that live changes are hardly delayed. The partner service does not
document how its list is paged: --paging and the --…-parameter options are for the case that it is another way than assumed.

Ctrl-C, or --pause from elsewhere, stops it after the page in hand; the same command goes on from there, also after a crash.
--restart begins anew. What was sent twice is found unchanged.

Exit codes: 0 all adverts are in the queue; 1 a fault, the same command goes on; 3 stopped before the end, or something in the
list was no ID.

Examples:
  advert-bridge backfill main --local .advert-bridge
  advert-bridge backfill main   (the deployed stack)
  advert-bridge backfill main --ids adverts.txt
  printf '1001\\n1002\\n' | advert-bridge backfill main --ids - --local .advert-bridge
  advert-bridge backfill main --pause
  advert-bridge backfill main --paging offset --position-parameter offset --page-size 50`;

export const addBackfill: AddCommand = (program, io, end) =>
  withJson(withTarget(program.command('backfill')))
    .summary('look at every advert once')
    .description(
      'Looks at every advert of a partner account once: one that was never seen gets its first event, one whose status ' +
        'differs from its latest event its next one (cause "backfill"), any other none.',
    )
    .argument('<NAME>', 'the partner account')
    .option('--ids <FILE>', 'look at the adverts of FILE, one ID a line, or - for standard input')
    .option('--restart', 'leave an unfinished backfill aside and begin anew')
    .option('--pause', 'stop the backfill that is running elsewhere, after the page in hand')
    .option('--paging <STYLE>', 'how the list is paged: page, offset or none (assumed; default: page)')
    .option('--page-size <N>', 'adverts of one page of the list, 1–1000 (assumed; default: 100)')
    .option('--position-parameter <NAME>', 'what the list calls page or offset (assumed; default: the same)')
    .option('--limit-parameter <NAME>', 'what the list calls the page size (assumed; default: limit)')
    .addHelpText('after', help)
    .action(async (name: string, options: BackfillOptions) => end(await run(io, name, options)));

interface BackfillOptions extends TargetOptions {
  readonly ids?: string;
  readonly restart?: boolean;
  readonly pause?: boolean;
  readonly json?: boolean;
}

const parameter = v.optional(
  v.pipe(v.string(), v.regex(/^[A-Za-z0-9_.[\]-]{1,64}$/, 'expected the name of a query parameter')),
);
const entries = {
  name: partnerAccountName,
  paging: v.optional(v.picklist(['page', 'offset', 'none'], 'expected page, offset or none'), 'page'),
  pageSize: v.optional(wholeOption(1, 1000), '100'),
  positionParameter: parameter,
  limitParameter: parameter,
};

/** Live changes stand behind so many, and a page: about a minute at the default rate. */
const maxWaiting = 500;
const lookMs = 1_000;

async function run(io: Io, given: string, options: BackfillOptions): Promise<ExitCode> {
  const target = targetOf(options);
  const { name, paging, ...rest } = checkedOptions(entries, { ...options, name: given }, { name: 'NAME' });
  if (options.pause) {
    if (options.ids !== undefined || options.restart) {
      throw new UsageError('--pause goes with no other option: it stops a backfill that is running');
    }
    return pause(io, name, target, options);
  }
  const fromFile = options.ids === undefined ? undefined : await fileSource(io, options.ids);
  const signal = io.untilStopped();
  const list: ListPaging = { style: paging, ...rest };
  const result = await withCatchUp(target, async (catchUp) => {
    const { generation } = await connectedAccount(catchUp, name, target);
    let latest = '';
    const progress = startProgress(io, async () => latest);
    try {
      return await backfill(
        {
          backfills: catchUp.backfills,
          queue: catchUp.poll.queue,
          clock: catchUp.poll.clock,
          newId: () => randomUUID().replaceAll('-', ''),
          settings: {
            feed: advertsFeed.name,
            // Where nobody takes messages out, nobody waits behind them either.
            maxWaiting: catchUp.isDelivering() ? maxWaiting : Number.POSITIVE_INFINITY,
            lookMs,
          },
          onProgress: ({ listed }, waiting) => {
            const of = fromFile ? ` of ${count(fromFile.total)}` : '';
            latest = `${count(listed)}${of} adverts listed${waiting ? ', waiting for the queue to empty' : ''}`;
          },
        },
        { partnerAccount: name, generation },
        fromFile ?? listSource(catchUp, { partnerAccount: name, generation }, list),
        { signal, restart: options.restart ?? false },
      );
    } finally {
      progress.stop();
    }
  });
  return tell(io, name, target, result, options);
}

async function pause(
  io: Io,
  name: string,
  target: Target,
  { json = false }: BackfillOptions,
): Promise<ExitCode> {
  const paused = await withCatchUp(target, async (catchUp) => {
    const { generation } = await connectedAccount(catchUp, name, target);
    return pauseBackfill(catchUp.backfills, { partnerAccount: name, generation });
  });
  if (!paused) throw new CommandError(`no backfill of ${name} is running`);
  if (json) give(io, { partnerAccount: name, end: 'paused', ...paused });
  else
    say(
      io,
      `Paused after ${count(paused.listed)} adverts. To go on: \`${commandFor(target, `backfill ${name}`)}\``,
    );
  return exitCodes.done;
}

function tell(
  io: Io,
  name: string,
  target: Target,
  { end, progress }: BackfillResult,
  { json = false }: BackfillOptions,
): ExitCode {
  const { listed, malformed, source, startedAt } = progress;
  const again = `\`${commandFor(target, `backfill ${name}`)}\` with the same options`;
  if (end === 'other-source') {
    throw new CommandError(
      `a backfill of ${name} that was begun at ${startedAt} is not finished, and its adverts come from elsewhere ` +
        `(${source}). Finish that one, or leave it aside with --restart`,
    );
  }
  if (json) give(io, { partnerAccount: name, end, listed, malformed, startedAt });
  else if (end === 'done') {
    say(io, `${count(listed)} adverts are in the queue: each is looked at in its turn.`);
    const next = target.kind === 'local' ? 'run' : `status ${name}`;
    say(io, `Next: \`${commandFor(target, next)}\``);
  } else if (end === 'taken-over') {
    say(io, `Stopped: another process goes on with the backfill of ${name}, or has begun anew.`);
  } else {
    say(io, `Stopped after ${count(listed)} adverts. To go on: ${again}.`);
  }
  if (malformed > 0)
    say(io, `${count(malformed)} entries of the list have no advert ID: they were left out.`);
  return end === 'done' && malformed === 0 ? exitCodes.done : exitCodes.needsPerson;
}
