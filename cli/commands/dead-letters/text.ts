/** Dead letters as readable text. Text from the feed is made printable first. */

import { printableLine as printable } from '../../../shared/domain/text/printable.ts';
import {
  type LetterChoice,
  type LetterList,
  type LetterOutcome,
  type StoredLetter,
  writtenByNewer,
} from '../../../shared/ports/dead-letters.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';

/** Help below the options, of `dead-letters` and of each of its commands. */
export const more = {
  all: `Examples:
  advert-bridge dead-letters list --local .advert-bridge
  advert-bridge dead-letters list main --json   (the deployed stack)
  advert-bridge dead-letters show 12 --local .advert-bridge
  advert-bridge dead-letters redrive main --local .advert-bridge
  advert-bridge dead-letters drop 12 13 --yes --local .advert-bridge`,

  list: `Exit code 3 means that there are some: they are left for a person.

Examples:
  advert-bridge dead-letters list main --local .advert-bridge`,

  show: `Examples:
  advert-bridge dead-letters show 3f0a6c1e-9d55-4f4e-8c1c-0f2d7a1b2c3d --json   (the deployed stack)`,

  redrive: `May be repeated: a message that is back in the queue is no dead letter any more. A word in the form of an ID is taken for an
ID. Exit code 3 means that some letters have nothing to send, and stay for a person.

Examples:
  advert-bridge dead-letters redrive 12 13 --local .advert-bridge
  advert-bridge dead-letters redrive --all   (the deployed stack)`,

  drop: `Examples:
  advert-bridge dead-letters drop 3f0a6c1e-9d55-4f4e-8c1c-0f2d7a1b2c3d --yes   (the deployed stack)`,
} as const;

/** Maximum rows of the table; `--json` prints all. */
const maxRows = 50;
const widestAdvert = 24;

/** The message is not lost: the command line of that version can redrive it. */
const isOfNewerBridge = ({ letter: { message, reason } }: StoredLetter): boolean =>
  message === null && reason.startsWith(writtenByNewer);

/** One line for each dead letter, then the possible commands. */
export function lettersText({ letters, unseen }: LetterList, target: Target): string {
  const lines = letters.length === 0 ? ['No dead letters.'] : table(letters.slice(0, maxRows));
  if (letters.length > maxRows) {
    lines.push(`… and ${count(letters.length - maxRows)} more; --json gives all of them.`);
  }
  if (unseen > 0) lines.push(unseenText(unseen));
  if (letters.length > 0) {
    const command = (words: string) => `\`${commandFor(target, `dead-letters ${words}`)}\``;
    const redrives = `When the cause is fixed: ${command('redrive ID')} or ${command('redrive --all')}. `;
    lines.push(
      `All of one letter: ${command('show ID')}. ${letters.some(({ letter }) => letter.message) ? redrives : ''}` +
        (letters.every(isOfNewerBridge) ? '' : `To remove one: ${command('drop ID')}.`),
    );
  }
  return lines.join('\n');
}

/** "About", because SQS's count may lag by a minute. */
const unseenText = (unseen: number): string =>
  `About ${count(unseen)} more are not visible now: another command is reading them, or they are behind letters of the same ` +
  'advert. Try again in five minutes.';

export function unknownLettersText(ids: readonly string[], target: Target, unseen: number): string {
  const hidden =
    unseen > 0
      ? `. About ${count(unseen)} cannot be seen now, perhaps because another command reads them: try again in five minutes`
      : '';
  return (
    `no dead letter ${ids.join(', ')}: perhaps it was put back or dropped already. ` +
    `\`${commandFor(target, 'dead-letters list')}\` shows those that exist${hidden}`
  );
}

export function redrivenLines(
  { done, nothingToSend, unseen }: LetterOutcome,
  { ids }: LetterChoice,
  unknown: readonly string[],
): string[] {
  const lines = done.length > 0 || unknown.length === 0 ? [`${wereText(done)} put back into the queue.`] : [];
  if (nothingToSend.length > 0) {
    lines.push(
      `Left, because they have nothing to send: ${nothingToSend.join(', ')}. \`dead-letters show ID\` says what to do with each.`,
    );
  }
  if (ids === undefined && unseen > 0) lines.push(unseenText(unseen));
  return lines;
}

export const wereText = ({ length }: readonly string[]): string =>
  length === 1 ? '1 dead letter was' : `${count(length)} dead letters were`;

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

/** All contents of one dead letter. */
export function letterText(stored: StoredLetter, target: Target): string {
  const { id, letter } = stored;
  const { partnerAccount, advertId, fault, reason, at, receives, message } = letter;
  const next = message
    ? `When the cause is fixed: \`${commandFor(target, `dead-letters redrive ${id}`)}\``
    : isOfNewerBridge(stored)
      ? 'Leave it where it is until that version is deployed again: docs/operate/upgrade.md.'
      : `It has nothing to send again. When you have looked at it: \`${commandFor(target, `dead-letters drop ${id}`)}\``;
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

/** One dead letter contains all malformed IDs of a page, and names the first of them as its advert. */
const othersOf = ({ count: ids = 1 }: StoredLetter['letter']): string =>
  ids > 1 ? ` and ${count(ids - 1)} more` : '';

const shortened = (text: string): string =>
  text.length > widestAdvert ? `${text.slice(0, widestAdvert - 1)}…` : text;
