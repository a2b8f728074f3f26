import type { AccountStatus } from '../../operations/status.ts';

/** With commas. By hand, for Intl takes 10 ms to come up, a third of what Node itself does. */
export const count = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');

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
