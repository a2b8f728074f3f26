import { printableLine } from '../shared/domain/printable.ts';
import type { AccountStatus, Status } from './bridge.ts';
import { commandFor, type Target } from './target.ts';

/** More of them are summed up. */
const mostInFull = 20;

/**
 * The status for a person: a few lines for each partner account, those first that need one, then the queue and what is to
 * be done. Of many partner accounts only what stands out.
 */
export function statusText(status: Status, target: Target, nowMs: number): string {
  const { partnerAccounts, queue, pausedUntil } = status;
  const inFull = partnerAccounts.length <= mostInFull;
  const lines = inFull
    ? [...partnerAccounts].sort(byUrgency).flatMap((account) => accountLines(account, target))
    : crowdLines(partnerAccounts, target);
  if (partnerAccounts.length === 0) {
    lines.push(`No partner account is connected. Connect one: \`${connectCommand(target, 'NAME')}\``);
  }
  lines.push(`queue: ${count(queue.waiting)} waiting, ${count(queue.deadLetters)} dead-lettered`);
  if (pausedUntil !== null) {
    const seconds = Math.ceil((Date.parse(pausedUntil) - nowMs) / 1000);
    lines.push(`The partner service asked the whole bridge to wait until ${pausedUntil} (${seconds} s).`);
  }
  return lines.join('\n');
}

const byUrgency = (a: AccountStatus, b: AccountStatus): number => urgencyOf(b) - urgencyOf(a);

/** Who needs a person, who waits, who failed last; the order by name stays among equals. */
const urgencyOf = ({ needsPerson, state, reason }: AccountStatus): number => {
  if (needsPerson) return 3;
  return state === 'paused' ? 2 : Number(state === 'polling' && reason !== null);
};

/** How many are told of, of each kind. */
const mostTold = 10;

/** What a person wants to know of a thousand: who needs one, who waits or fails, who is furthest behind, the sums. */
function crowdLines(accounts: readonly AccountStatus[], target: Target): string[] {
  const inState = (state: AccountStatus['state']) => accounts.filter((account) => account.state === state);
  const states = (['polling', 'paused', 'stopped'] as const).map(
    (state) => `${count(inState(state).length)} ${state}`,
  );
  const urgent = accounts.filter(({ needsPerson }) => needsPerson);
  const unwell = accounts.filter((account) => !account.needsPerson && urgencyOf(account) > 0);
  const behind = accounts
    .filter(({ state, lagSeconds }) => state === 'polling' && lagSeconds !== null)
    .toSorted((a, b) => (b.lagSeconds ?? 0) - (a.lagSeconds ?? 0));
  const sums = accounts.map(({ books, redelivered = 0 }) => ({ ...books, redelivered })).reduce(sumOf);
  return [
    `${count(accounts.length)} partner accounts: ${states.join(', ')}`,
    ...(urgent.length > 0 ? [`${count(urgent.length)} of them need a person:`] : []),
    ...urgent
      .slice(0, mostTold)
      .flatMap((account) => [
        `  ${headLine(account)}`,
        ...forPerson(account, target).map((line) => `  ${line}`),
      ]),
    ...andMore(urgent),
    ...(unwell.length > 0 ? [`${count(unwell.length)} wait or fail for now:`] : []),
    ...unwell.slice(0, mostTold).map((account) => `  ${headLine(account)}`),
    ...andMore(unwell),
    ...behind
      .slice(0, 1)
      .map(({ name, lagSeconds }) => `furthest behind: ${name}, ${duration(lagSeconds ?? 0)}`),
    `books: ${booksText(accounts.some(({ redelivered }) => redelivered !== undefined) ? { books: sums, redelivered: sums.redelivered } : { books: sums })}`,
    `One of them in full: \`${commandFor(target, 'status NAME')}\`; all of them: \`${commandFor(target, 'status --json')}\``,
  ];
}

const andMore = ({ length }: readonly AccountStatus[]): string[] =>
  length > mostTold ? [`  and ${count(length - mostTold)} more`] : [];

type Sums = AccountStatus['books'] & { readonly redelivered: number };

const sumOf = (a: Sums, b: Sums): Sums =>
  Object.fromEntries(
    Object.entries(a).map(([term, value]) => [term, value + b[term as keyof Sums]]),
  ) as unknown as Sums;

const connectCommand = (target: Target, name: string): string => commandFor(target, `connect ${name} --open`);

function accountLines(account: AccountStatus, target: Target): string[] {
  const { lastSuccess, lagSeconds, cursorResets } = account;
  const read =
    lagSeconds === null
      ? 'none'
      : lastSuccess === null
        ? `not read to its end yet, ${duration(lagSeconds)} after it was connected`
        : `${duration(lagSeconds)} behind (last success ${lastSuccess})`;
  return [
    headLine(account),
    `  feed:  ${read}${cursorResets === 0 ? '' : `, cursor rejected ${count(cursorResets)} times`}`,
    `  token: ${tokenText(account)}`,
    `  books: ${booksText(account)}`,
    ...forPerson(account, target),
  ];
}

function tokenText({ state, tokenExpiresAt }: AccountStatus): string {
  if (tokenExpiresAt === null) return 'none';
  return state === 'stopped' ? 'not used any more' : `until ${tokenExpiresAt}, then refreshed`;
}

/** What it is that somebody has to do. */
function forPerson(account: AccountStatus, target: Target): string[] {
  const { name, state, needsPerson, refreshTokenExpiresAt } = account;
  if (state === 'stopped') return [`  to go on: \`${connectCommand(target, name)}\``];
  if (state === 'paused' || !needsPerson) return [];
  return [`  its refresh token was not used for weeks: it dies at ${refreshTokenExpiresAt}`];
}

const headLine = ({ name, state, reason }: AccountStatus): string =>
  `${name}: ${state}${reason === null ? '' : ` (${printableLine(reason)})`}`;

/** The books as the sum that they are. */
export function booksText({ books, redelivered }: Pick<AccountStatus, 'books' | 'redelivered'>): string {
  const { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight } = books;
  const terms = [
    `${count(events)} events`,
    `${count(unchanged)} unchanged`,
    `${count(coalesced)} coalesced`,
    `${count(unavailable)} unavailable`,
    `${count(deadLettered)} dead-lettered`,
    `${count(inFlight)} in flight`,
  ];
  const sum = `${count(listed)} listed = ${terms.join(' + ')}`;
  return redelivered === undefined
    ? sum
    : `${sum} (outcomes are counted per delivery; ${count(redelivered)} deliveries were repeated)`;
}

/** With commas. By hand, for Intl takes 10 ms to come up, a third of what Node itself does. */
export const count = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
