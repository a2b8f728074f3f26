import type { AccountStatus } from '../../operations/account-status.ts';

/** With commas. Not by Intl, which takes 10 ms to load: a third of the time that Node itself needs to start. */
export const count = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** A number and the word that goes by it: a verb, or a noun. */
export const are = (number: number, one = 'is', several = 'are'): string =>
  `${count(number)} ${number === 1 ? one : several}`;

/** The books as the sum that they are. */
export function booksText({ books, redelivered }: Pick<AccountStatus, 'books' | 'redelivered'>): string {
  const { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight } = books;
  const sum =
    `${count(listed)} listed = ${count(events)} events + ${count(unchanged)} unchanged + ${count(coalesced)} coalesced + ` +
    `${count(unavailable)} unavailable + ${count(deadLettered)} dead-lettered + ${count(inFlight)} in flight`;
  return redelivered === undefined
    ? sum
    : `${sum} (outcomes are counted per delivery; ${count(redelivered)} deliveries were repeated)`;
}

/** A length of time, in the unit that says enough. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
