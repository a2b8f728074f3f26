import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { type Commands, type Facts, sentence } from '../../shared/findings/sentences.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';
import errors from './errors.json' with { type: 'json' };

/** The command line or a setting is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What is wrong, without a full stop, and what to do. */
export type Problem = readonly [says: string, mend?: string | undefined];

/** The command failed: exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly says: string;
  /** What to do; null if the other sentence says that, too. */
  readonly mend: string | null;
  /** For programs: that of an entry in errors.json, or `denied`. */
  readonly code: string | undefined;

  constructor(
    says: string,
    {
      mend,
      code,
      cause,
    }: { mend?: string | null | undefined; code?: string | undefined } & ErrorOptions = {},
  ) {
    super(mend ? `${says}. ${mend}` : says, { cause });
    this.says = says;
    this.mend = mend ?? null;
    this.code = code;
  }
}

type Entries = Readonly<Record<keyof typeof errors, { readonly says: string; readonly mend?: string }>>;

/** Why a command cannot go on, by errors.json. @param options.command writes the commands in its sentences */
export function failed(
  code: keyof typeof errors,
  facts: Facts = {},
  { command, cause }: Partial<Commands> & ErrorOptions = {},
): CommandError {
  const { says, mend } = (errors as Entries)[code];
  const of = (text: string) => sentence(text, facts, command);
  return new CommandError(of(says), { mend: mend && of(mend), code, cause });
}

export const applicationWords = (kind: 'local' | 'stack'): string =>
  `application${kind === 'local' ? ' --base-url URL' : ''} --client-id ID --client-secret-stdin`;

export const connectWords = (name: string): string => `connect ${name} --open`;

/** A plain deployment does not notice resources that were deleted or changed by hand. */
export const makeAgainCommand = 'npx cdk deploy --revert-drift';

/** The first of them, and how many more there are. */
export const namesText = (names: readonly string[], most: number): string =>
  names.slice(0, most).join(', ') + (names.length > most ? ` and ${names.length - most} more` : '');

/**
 * An unreadable row of another account is ignored.
 *
 * @throws {UsageError} if the bridge does not know it; it does not repeat NAME, which may be a secret in the wrong place
 */
export async function knownAccount(
  partnerAccounts: Pick<PartnerAccounts, 'read' | 'list'>,
  name: string,
): Promise<PartnerAccount> {
  const account = await partnerAccounts.read(name);
  if (account) return account;
  const names = (await partnerAccounts.list(() => undefined)).map((known) => known.name);
  const known = names.length === 0 ? ': none is connected' : `. Known: ${namesText(names, 20)}`;
  throw new UsageError(`no such partner account${known}`);
}

/** @throws {UsageError} if a NAME is given and the bridge does not know it */
export async function requireKnown(
  partnerAccounts: Pick<PartnerAccounts, 'read' | 'list'>,
  name: string | undefined,
): Promise<void> {
  if (name !== undefined) await knownAccount(partnerAccounts, name);
}
