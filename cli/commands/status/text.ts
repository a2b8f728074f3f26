import type { AccountStatus } from '../../../operations/account-status.ts';
import type { Status } from '../../../operations/status.ts';
import { printableLine } from '../../../shared/domain/text/printable.ts';
import { connectCommand } from '../../shared/explain.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { booksText, count, duration } from '../../shared/wording.ts';
import { forPerson } from './account-causes.ts';
import { bridgeLines, pausedText, type Versions } from './bridge-text.ts';

export const more = `Exit code 3 means that something is left for a person: a stopped partner account, a feed that cannot be read until somebody
acts or is more than five minutes behind, a refresh token that is dying of disuse, an open circuit, dead letters, a stored
row that cannot be read; on a stack also a schedule or an event source mapping that is switched
off, an alarm that is raised, and what AWS does not show. Each has a sentence with the command that mends it. More than 20
partner accounts are summed up, first those that need a person; --json has all of them.

Examples:
  advert-bridge status --local .advert-bridge
  advert-bridge status main --json   (the deployed stack)
  advert-bridge status --watch`;

/** With more partner accounts than this, a summary is shown. */
const maxInFull = 20;

/**
 * The status as readable text: a few lines for each partner account, those that need manual action first, then the
 * queue and what to do. Many partner accounts are summarized.
 */
export function statusText(status: Status, target: Target, nowMs: number, versions?: Versions): string {
  const { partnerAccounts } = status;
  const standstill = standstillOf(status);
  const inFull = partnerAccounts.length <= maxInFull;
  const lines = inFull
    ? [...partnerAccounts].sort(byUrgency).flatMap((account) => accountLines(account, target, standstill))
    : crowdLines(partnerAccounts, target, standstill);
  if (partnerAccounts.length === 0) {
    lines.push(`No partner account is connected. Connect one: \`${connectCommand(target, 'NAME')}\``);
  }
  return [...lines, ...bridgeLines(status, target, nowMs, versions)].join('\n');
}

const byUrgency = (a: AccountStatus, b: AccountStatus): number => urgencyOf(b) - urgencyOf(a);

/** Accounts that need manual action, then waiting ones, then those whose last poll failed; otherwise sorted by name. */
const urgencyOf = ({ needsPerson, state, reason }: AccountStatus): number => {
  if (needsPerson) return 3;
  return state === 'paused' ? 2 : Number(state === 'polling' && reason !== null);
};

/** Why no partner account is polled at all, whatever its own state; undefined if polling continues. */
function standstillOf({ paused, pausedUntil }: Status): string | undefined {
  if (paused) return 'not polled, because the whole bridge is paused';
  return pausedUntil === null ? undefined : 'not polled, because the whole bridge waits';
}

/** How many accounts of each kind are shown. */
const maxShown = 10;

/**
 * The summary of many accounts: those that need manual action, those that wait or fail, the one furthest behind, the
 * totals.
 */
function crowdLines(
  accounts: readonly AccountStatus[],
  target: Target,
  standstill: string | undefined,
): string[] {
  const inState = (state: AccountStatus['state']) => accounts.filter((account) => account.state === state);
  const states = (['polling', 'paused', 'stopped'] as const).map(
    (state) => `${count(inState(state).length)} ${state === 'polling' ? (standstill ?? state) : state}`,
  );
  const urgent = accounts.filter(({ needsPerson }) => needsPerson);
  const unwell = accounts.filter((account) => !account.needsPerson && urgencyOf(account) > 0);
  const behind = accounts
    .filter(({ state, lagSeconds }) => state === 'polling' && lagSeconds !== null)
    .toSorted((a, b) => (b.lagSeconds ?? 0) - (a.lagSeconds ?? 0));
  const isCountedPerDelivery = accounts.some(({ redelivered }) => redelivered !== undefined);
  const sums = accounts.map(({ books, redelivered = 0 }) => ({ ...books, redelivered })).reduce(sumOf);
  return [
    `${count(accounts.length)} partner accounts: ${states.join(', ')}`,
    ...(urgent.length > 0 ? [`${count(urgent.length)} of them need manual action:`] : []),
    ...urgent
      .slice(0, maxShown)
      .flatMap((account) => [
        `  ${headLine(account, standstill)}`,
        ...forPerson(account, target).map((line) => `  ${line}`),
      ]),
    ...andMore(urgent),
    ...(unwell.length > 0 ? [`${count(unwell.length)} wait or fail for now:`] : []),
    ...unwell.slice(0, maxShown).map((account) => `  ${headLine(account, standstill)}`),
    ...andMore(unwell),
    ...behind
      .slice(0, 1)
      .map(({ name, lagSeconds }) => `furthest behind: ${name}, ${duration(lagSeconds ?? 0)}`),
    `books: ${booksText(isCountedPerDelivery ? { books: sums, redelivered: sums.redelivered } : { books: sums })}`,
    `One of them in full: \`${commandFor(target, 'status NAME')}\`; all of them: \`${commandFor(target, 'status --json')}\``,
  ];
}

const andMore = ({ length }: readonly AccountStatus[]): string[] =>
  length > maxShown ? [`  and ${count(length - maxShown)} more`] : [];

type Sums = AccountStatus['books'] & { readonly redelivered: number };

const sumOf = (a: Sums, b: Sums): Sums =>
  Object.fromEntries(
    Object.entries(a).map(([term, value]) => [term, value + b[term as keyof Sums]]),
  ) as unknown as Sums;

function accountLines(account: AccountStatus, target: Target, standstill: string | undefined): string[] {
  return [
    headLine(account, standstill),
    `  feed:  ${readText(account)}`,
    `  token: ${tokenText(account)}`,
    `  books: ${booksText(account)}`,
    ...(account.paused
      ? [`  ${pausedText(account.paused, commandFor(target, `resume ${account.name}`))}`]
      : []),
    ...forPerson(account, target),
  ];
}

function readText({ lastSuccess, lagSeconds, cursorResets }: AccountStatus): string {
  const resets = cursorResets === 0 ? '' : `, cursor rejected ${count(cursorResets)} times`;
  if (lagSeconds === null) return `none${resets}`;
  return lastSuccess === null
    ? `not read to its end yet, ${duration(lagSeconds)} after it was connected${resets}`
    : `${duration(lagSeconds)} behind (last success ${lastSuccess})${resets}`;
}

function tokenText({ state, tokenExpiresAt }: AccountStatus): string {
  if (tokenExpiresAt === null) return 'none';
  return state === 'stopped' ? 'no longer used' : `until ${tokenExpiresAt}, then refreshed`;
}

const headLine = ({ name, state, reason }: AccountStatus, standstill: string | undefined): string =>
  `${name}: ${state === 'polling' ? (standstill ?? state) : state}${reason === null ? '' : ` (${printableLine(reason)})`}`;
