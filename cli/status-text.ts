import type { AccountStatus, Status } from './bridge.ts';
import { commandFor, type Target } from './target.ts';

/** The status for a person: a few lines for each partner account, then the queue and what is to be done. */
export function statusText(status: Status, target: Target, nowMs: number): string {
  const { partnerAccounts, queue, pausedUntil } = status;
  const lines = partnerAccounts.flatMap((account) => accountLines(account, target));
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

const connectCommand = (target: Target, name: string): string => commandFor(target, `connect ${name}`);

function accountLines(account: AccountStatus, target: Target): string[] {
  const { name, state, reason, lastSuccess, lagSeconds, tokenExpiresAt, cursorResets } = account;
  const read =
    lagSeconds === null
      ? 'none'
      : lastSuccess === null
        ? `not read to its end yet, ${duration(lagSeconds)} after it was connected`
        : `${duration(lagSeconds)} behind (last success ${lastSuccess})`;
  return [
    `${name}: ${state}${reason === null ? '' : ` (${reason})`}`,
    `  feed:  ${read}${cursorResets === 0 ? '' : `, cursor rejected ${count(cursorResets)} times`}`,
    `  token: ${tokenExpiresAt === null ? 'none' : `until ${tokenExpiresAt}, then refreshed`}`,
    `  books: ${booksText(account)}`,
    ...(state === 'stopped' ? [`  to go on: \`${connectCommand(target, name)}\``] : []),
  ];
}

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

export const count = (number: number): string => number.toLocaleString('en-US');

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
