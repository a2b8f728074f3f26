import { answersLines, are, count, duration } from '../../shared/domain/text/figures.ts';
import type { Books } from '../../shared/state/books.ts';

export { answersLines, are, count, duration };

interface ShownBooks {
  readonly books: Omit<Books, 'redelivered'>;
  readonly redelivered?: number | undefined;
}

export function booksText({ books, redelivered }: ShownBooks): string {
  const { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight } = books;
  const sum =
    `${count(listed)} listed = ${count(events)} events + ${count(unchanged)} unchanged + ${count(coalesced)} coalesced + ` +
    `${count(unavailable)} unavailable + ${count(deadLettered)} dead-lettered + ${count(inFlight)} in flight`;
  return redelivered === undefined
    ? sum
    : `${sum} (outcomes are counted per delivery; ${count(redelivered)} deliveries were repeated)`;
}

/** Rows as lines, with each column but the last as wide as its widest cell. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widthOf = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  return rows.map((row) =>
    row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widthOf(column)))).join('  '),
  );
}
