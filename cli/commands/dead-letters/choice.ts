/** Which dead letters a command line means. */

import { CommandError, UsageError } from '../../../operations/errors.ts';
import { unknownAccount } from '../../../operations/unknown-account.ts';
import { partnerAccountName } from '../../../shared/contract/checks.ts';
import type { Bridge, LetterChoice } from '../../shared/bridge.ts';
import { checkedOptions } from '../../shared/check-options.ts';
import { commandFor, type Target } from '../../shared/target.ts';

/** A row of the embedded bridge's, or a MessageId of SQS. */
const idPattern = /^([1-9]\d{0,14}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/**
 * The words as IDs, each once.
 *
 * @throws {UsageError} without repeating what is none
 */
export function idsOf(words: readonly string[]): readonly string[] {
  if (words.every((word) => idPattern.test(word))) return [...new Set(words)];
  throw new UsageError('ID: expected the ID of a dead letter, as `advert-bridge dead-letters list` shows it');
}

/**
 * IDs or the NAME of one partner account. What has an ID's form is an ID, unless it stands where only a NAME can.
 *
 * @throws {CommandError} for a NAME that neither the bridge nor a letter knows
 */
export async function chooseLetters(
  bridge: Bridge,
  given: { readonly words: readonly string[] } | { readonly name: string },
): Promise<LetterChoice> {
  const words = 'words' in given ? given.words : [];
  if (words.length > 1 || words.some((word) => idPattern.test(word))) return { ids: idsOf(words) };
  const named = 'name' in given ? given.name : words[0];
  const { name } = checkedOptions({ name: partnerAccountName }, { name: named }, { name: 'NAME' });
  const known = await bridge.names();
  if (known.includes(name)) return { partnerAccount: name };
  // Letters outlive an account that was forgotten.
  const { letters } = await bridge.deadLetters.list({ partnerAccount: name });
  if (letters.length === 0) throw unknownAccount(known);
  return { partnerAccount: name };
}

export function unknownLetters(ids: readonly string[], target: Target, unseen: number): CommandError {
  const list = `\`${commandFor(target, 'dead-letters list')}\``;
  const hidden =
    unseen > 0
      ? `. About ${unseen} cannot be seen now, perhaps because somebody else is looking at them: try again in five minutes`
      : '';
  return new CommandError(
    `no dead letter ${ids.join(', ')}: perhaps it was put back or dropped already. ${list} shows those that are there${hidden}`,
  );
}
