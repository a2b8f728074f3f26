import { answersLines, are, count, duration } from '../../shared/domain/text/figures.ts';
import { printableLine } from '../../shared/domain/text.ts';
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

/** Facts of one kind as a table, whose head has their names; each column but the last is as wide as its widest cell. */
export function factTable(facts: readonly Readonly<Record<string, unknown>>[]): string[] {
  const columns = [...new Set(facts.flatMap((row) => Object.keys(row)))];
  const heads = columns.map((column) => column.replace(/[A-Z]/g, ' $&').toUpperCase());
  const rows = facts.map((row) => columns.map((column) => printableLine(String(row[column] ?? 'none'))));
  const table = facts.length === 0 ? [] : [heads, ...rows];
  const widths = columns.map((_, column) =>
    table.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return table.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  '),
  );
}
