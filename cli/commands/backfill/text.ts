import type { WalkResult } from '../../../operations/walk.ts';
import type { BackfillProgress } from '../../../shared/ports/backfills.ts';
import { commandFor, nextLine, type Target } from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';

export const more = `The adverts come from the partner service's advert list, or from --ids. Each goes through the queue like one that the feed
named. A page is added only while at most some hundred messages wait, so that live changes are hardly delayed. The partner
service does not document how its list is paged: --paging and the --…-parameter options are for the case that it is paged in
another way than assumed.

Ctrl-C, or --pause from another terminal, stops the backfill after its current page; the same command continues it, also
after a crash. --restart begins anew. An advert that is sent twice is found unchanged.

Exit codes: 0 all adverts are in the queue; 1 a fault, the same command continues; 3 stopped before the end, or something in
the list was no ID.

Examples:
  advert-bridge backfill main --local .advert-bridge
  advert-bridge backfill main   (the deployed stack)
  advert-bridge backfill main --ids adverts.txt
  printf '1001\\n1002\\n' | advert-bridge backfill main --ids - --local .advert-bridge
  advert-bridge backfill main --pause
  advert-bridge backfill main --paging offset --position-parameter offset --page-size 50`;

export function progressText(listed: number, total: number | undefined, isWaiting: boolean): string {
  const of = total === undefined ? '' : ` of ${count(total)}`;
  return `${count(listed)}${of} adverts listed${isWaiting ? ', waiting for the queue to empty' : ''}`;
}

export const pausedText = (target: Target, name: string, { listed }: BackfillProgress): string =>
  `Paused after ${count(listed)} adverts. To continue: \`${commandFor(target, `backfill ${name}`)}\``;

export const otherSourceText = (name: string, { startedAt, source }: BackfillProgress): string =>
  `an unfinished backfill of ${name}, started at ${startedAt}, takes its adverts from another source ` +
  `(${source}). Finish it, or abandon it with --restart`;

export function endedLines(
  target: Target,
  name: string,
  end: Exclude<WalkResult<BackfillProgress>['end'], 'other-source'>,
  listed: number,
): string[] {
  if (end === 'done') {
    return [
      `${count(listed)} adverts are in the queue: each is fetched in its turn.`,
      nextLine(target, name),
    ];
  }
  if (end === 'taken-over') {
    return [`Stopped: another process continues the backfill of ${name}, or has started it again.`];
  }
  return [
    `Stopped after ${count(listed)} adverts. To continue: \`${commandFor(target, `backfill ${name}`)}\` with the same options.`,
  ];
}

export const malformedText = (malformed: number): string =>
  `${count(malformed)} entries of the list have no advert ID and were skipped.`;
