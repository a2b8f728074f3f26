import type { AuditResult, AuditStep } from '../../../functions/audit/audit.ts';
import type { Bound } from '../../../operations/audit/verdict.ts';
import type { AuditProgress, Difference } from '../../../shared/ports/audits.ts';
import { commandFor, nextLine, type Target } from '../../shared/target.ts';
import { are, count } from '../../shared/wording.ts';

/**
 * This sample size takes a minute at the default rate. If the audit finds no difference, at most 1 % of all adverts are
 * wrong.
 */
export const defaultSample = 299;

export const more = `The adverts of a sample are chosen at random from all that were ever published. When none of ${defaultSample} differs, at most 1 % of
all are wrong, with 95 % confidence; of 2,995, at most 0.1 %. When more differ, the bound is greater.

An advert that differs is looked at again after some minutes (overlapSeconds), when the feed lists every change that the first look
may have seen, and no message of the advert waits. Then a difference stands that no change explains. One that could not be
told from a change is "undecided", and counts as wrong in the bound.

Requests take half of the bridge's rate at most. Ctrl-C stops; the same command continues within a day, also after a crash. --full
reads the service's list of adverts, too: --paging and the --…-parameter options are as for \`backfill\`.

Exit codes: 0 nothing differs, or all that does was sent through the queue; 1 a fault, the same command continues; 3 something
differs and was not repaired, or the audit was stopped.

Examples:
  advert-bridge audit main --local .advert-bridge
  advert-bridge audit main --sample 2995   (the deployed stack)
  advert-bridge audit main --full --repair
  advert-bridge audit main --json | jq -r '.differing[].advertId' | advert-bridge audit main --ids - --repair`;

export function progressText(
  { checked, found, waitsFor, leftMs = 0 }: AuditStep,
  total: number | undefined,
): string {
  const of = total === undefined ? '' : ` of ${count(total)}`;
  const compared = `${count(checked)}${of} ${(total ?? checked) === 1 ? 'advert' : 'adverts'} compared`;
  const differ = found === 0 ? '' : `, ${are(found, 'differs', 'differ')}`;
  if (waitsFor === 'feed') return `${compared}${differ}: checked again in ${Math.ceil(leftMs / 1000)} s`;
  return `${compared}${differ}${waitsFor ? ', waiting for the partner service' : ''}`;
}

const statusText = (status: string | null, none: string): string => (status === null ? none : `"${status}"`);

function differenceText({ advertId, published, actual, owed }: Difference): string {
  if (owed && published === actual)
    return `${advertId}: published as ${statusText(published, 'unavailable')}, perhaps never accepted by the bus`;
  return `${advertId}: published as ${statusText(published, 'unavailable')}, the service says ${statusText(actual, 'that there is no such advert')}`;
}

/** One line for each advert that differs or is undecided. */
export const findingLines = ({ differing, neverPublished, undecided }: AuditProgress): string[] => [
  ...differing.map(differenceText),
  ...neverPublished.map((advertId) => `${advertId}: never published`),
  ...undecided.map((advertId) => `${advertId}: undecided`),
];

/** Rounded up to two digits, so that the text does not claim more than the audit has shown. */
export function percent(share: number): string {
  if (share === 0) return '0 %';
  const digit = 10 ** (Math.floor(Math.log10(share * 100)) - 1);
  return `${Number((Math.ceil((share * 100) / digit - 1e-9) * digit).toPrecision(2))} %`;
}

export function endedLines(end: AuditResult['end'], progress: AuditProgress, bound: Bound | null): string[] {
  const { checked, equal, differing, neverPublished, undecided, repaired } = progress;
  if (end === 'done' && checked === 0)
    return ['No advert was compared, because none has been published yet.'];
  const lines = [
    `${are(checked, 'advert', 'adverts')} compared: ${are(equal)} as published, ${are(differing.length, 'differs', 'differ')}, ` +
      `${are(neverPublished.length, 'was', 'were')} never published, ${are(undecided.length)} undecided.`,
  ];
  if (repaired > 0)
    lines.push(`${are(repaired, 'was', 'were')} sent through the queue: each gets its next event.`);
  if (bound?.confidence === 1)
    lines.push(
      `That is all of them: ${undecided.length > 0 ? 'at most ' : ''}${percent(bound.mostWrong)} were wrong.`,
    );
  else if (bound && checked > 0)
    lines.push(`Of all published adverts at most ${percent(bound.mostWrong)} are wrong (95 % confidence).`);
  if (end === 'stopped') lines.push('Stopped before the end.');
  if (end === 'taken-over') lines.push('Stopped: another process audits the same partner account.');
  if (end === 'too-many')
    lines.push('Stopped, because too many adverts differ or are undecided to check each one.');
  return lines;
}

/** What to do next, if anything. */
export function hintText(
  target: Target,
  name: string,
  {
    end,
    left,
    hasRepaired,
  }: { readonly end: AuditResult['end']; readonly left: number; readonly hasRepaired: boolean },
): string | undefined {
  if (end === 'too-many')
    return `Next: \`${commandFor(target, `backfill ${name}`)}\` fetches every advert once`;
  if (end === 'stopped') return `To continue: the same command, within a day`;
  if (end !== 'done') return undefined;
  if (left > 0) {
    return (
      `Next: docs/operate/runbook.md, AuditDifferences. To publish them: ` +
      `\`${commandFor(target, `audit ${name} --ids FILE --repair`)}\``
    );
  }
  return hasRepaired ? nextLine(target, name) : undefined;
}
