/** Which dead letters a command line selects. */

import type { Bridge } from '../../../operations/bridge.ts';
import { accountsBeside, UsageError, unknownAccount } from '../../../operations/errors.ts';
import { partnerAccountName } from '../../../shared/contract/checks.ts';
import type { LetterChoice } from '../../../shared/ports/dead-letters.ts';
import { checkedOptions } from '../../shared/options.ts';
import { commandFor, type Target } from '../../shared/target.ts';

/** An ID: the number of a row in an embedded bridge, or an SQS MessageId. */
const idPattern = /^([1-9]\d{0,14}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const asShown = (target: Target): string => `as \`${commandFor(target, 'dead-letters list')}\` shows it`;

/**
 * The arguments as IDs, without duplicates.
 *
 * @throws {UsageError} if an argument is not an ID; the message does not repeat it
 */
export function idsOf(words: readonly string[], target: Target): readonly string[] {
  if (words.every((word) => idPattern.test(word))) return [...new Set(words)];
  throw new UsageError(`ID: expected the ID of a dead letter, ${asShown(target)}`);
}

/**
 * IDs, or the NAME of one partner account. An argument in the form of an ID is an ID, unless only a NAME is possible.
 *
 * @throws {UsageError} for a NAME that neither the bridge nor any dead letter contains
 */
export async function chooseLetters(
  { deadLetters, partnerAccounts }: Bridge,
  given: { readonly words: readonly string[] } | { readonly name: string },
  target: Target,
): Promise<LetterChoice> {
  const words = 'words' in given ? given.words : [];
  if (words.length > 1 || words.some((word) => idPattern.test(word))) return { ids: idsOf(words, target) };
  const named = 'name' in given ? given.name : words[0];
  const { name } = checkedOptions({ name: partnerAccountName }, { name: named }, { name: 'NAME' });
  const known = await accountsBeside(partnerAccounts, name);
  // Dead letters remain after an account is forgotten.
  const isKnown =
    known.some((account) => account.name === name) ||
    (await deadLetters.list({ partnerAccount: name })).letters.length > 0;
  if (isKnown) return { partnerAccount: name };
  const unknown = unknownAccount(known);
  if ('name' in given) throw unknown;
  const neither = unknown.message.replace(/^no such partner account/, 'nor a partner account');
  throw new UsageError(`neither the ID of a dead letter, ${asShown(target)}, ${neither}`);
}
