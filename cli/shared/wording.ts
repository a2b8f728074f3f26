import type { AccountStatus } from '../../operations/account-status.ts';

/** A number with commas. Without Intl, which takes 10 ms to load, a third of Node's own start time. */
export const count = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** A number and a word in the matching form: a noun or a verb. */
export const are = (number: number, one = 'is', several = 'are'): string =>
  `${count(number)} ${number === 1 ? one : several}`;

/** How long so many requests take, such as ` (33 min at 10/s)`; empty for less than a second. */
export const timeFor = (requests: number, perSecond: number): string =>
  requests < perSecond ? '' : ` (${duration(requests / perSecond)} at ${perSecond}/s)`;

/** The books, written as an equation. */
export function booksText({ books, redelivered }: Pick<AccountStatus, 'books' | 'redelivered'>): string {
  const { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight } = books;
  const sum =
    `${count(listed)} listed = ${count(events)} events + ${count(unchanged)} unchanged + ${count(coalesced)} coalesced + ` +
    `${count(unavailable)} unavailable + ${count(deadLettered)} dead-lettered + ${count(inFlight)} in flight`;
  return redelivered === undefined
    ? sum
    : `${sum} (outcomes are counted per delivery; ${count(redelivered)} deliveries were repeated)`;
}

/** A duration in a suitable unit. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
