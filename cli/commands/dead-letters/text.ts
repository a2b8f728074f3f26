/** Dead letters for a person. What the feed listed is not trusted on a terminal. */
import { printableLine as printable } from '../../../shared/domain/text/printable.ts';
import type { LetterList, StoredLetter } from '../../shared/bridge.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';

/** Rows of the table; `--json` gives all. */
const maxRows = 50;
const widestAdvert = 24;

/** One line a letter, then what can be done. */
export function lettersText({ letters, unseen }: LetterList, target: Target): string {
  const lines = letters.length === 0 ? ['No dead letters.'] : table(letters.slice(0, maxRows));
  if (letters.length > maxRows) {
    lines.push(`… and ${count(letters.length - maxRows)} more; --json gives all of them.`);
  }
  if (unseen > 0) lines.push(unseenText(unseen));
  if (letters.length > 0) {
    const command = (words: string) => `\`${commandFor(target, `dead-letters ${words}`)}\``;
    const redrives = `When the cause is mended: ${command('redrive ID')} or ${command('redrive --all')}. `;
    lines.push(
      `One of them whole: ${command('show ID')}. ${letters.some(({ letter }) => letter.message) ? redrives : ''}` +
        `What nobody needs: ${command('drop ID')}.`,
    );
  }
  return lines.join('\n');
}

/** SQS's count may lag by a minute, so nothing more certain can be said. */
export const unseenText = (unseen: number): string =>
  `About ${count(unseen)} more cannot be seen now: somebody else is looking at them, or they stand behind letters of ` +
  'the same advert. Try again in five minutes.';

function table(letters: readonly StoredLetter[]): string[] {
  const rows = [
    ['ID', 'WHEN', 'ACCOUNT', 'ADVERT', 'FAULT', 'REASON'],
    ...letters.map(({ id, letter }) => [
      id,
      letter.at,
      letter.partnerAccount ?? '-',
      shortened(printable(letter.advertId ?? '-')) + othersOf(letter),
      printable(letter.fault),
      printable(letter.reason) + (letter.message ? '' : ' (nothing to send)'),
    ]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  '),
  );
}

/** All that the letter says. */
export function letterText({ id, letter }: StoredLetter, target: Target): string {
  const { partnerAccount, advertId, fault, reason, at, receives, message } = letter;
  const next = message
    ? `When the cause is mended: \`${commandFor(target, `dead-letters redrive ${id}`)}\``
    : `There is nothing to send again. When it has been looked at: \`${commandFor(target, `dead-letters drop ${id}`)}\``;
  const lines = [
    `dead letter ${id}`,
    `  partner account: ${partnerAccount ?? 'not known'}`,
    `  advert:          ${printable(advertId ?? 'not known')}${othersOf(letter)}`,
    `  fault:           ${printable(fault)}`,
    `  reason:          ${printable(reason)}`,
    `  given up:        ${at}, after ${count(receives)} ${receives === 1 ? 'delivery' : 'deliveries'}`,
  ];
  if (message) {
    lines.push(
      `  listed:          ${message.listedAt} in feed ${printable(message.feed)} (${message.cause})`,
      `  generation:      ${message.generation}`,
      `  key:             ${printable(message.key)}`,
      `  correlation ID:  ${printable(message.correlationId)}`,
    );
  }
  return [...lines, next].join('\n');
}

/** A letter stands for all malformed IDs of a page, and names the first of them as its advert. */
const othersOf = ({ count: ids = 1 }: StoredLetter['letter']): string =>
  ids > 1 ? ` and ${count(ids - 1)} more` : '';

const shortened = (text: string): string =>
  text.length > widestAdvert ? `${text.slice(0, widestAdvert - 1)}…` : text;
