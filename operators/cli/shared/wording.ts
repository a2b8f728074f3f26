import { printableLine } from '../../../shared/domain/text.ts';
import { answersLines, are, count, duration, wordsOf } from '../../operations/figures.ts';
import type { Line } from './io.ts';

export { answersLines, are, count, duration };

type Facts = Readonly<Record<string, unknown>>;

/** A generation is an identifier. */
const cellOf = (name: string, value: unknown): string =>
  Number.isInteger(value) && name !== 'generation'
    ? count(value as number)
    : printableLine(String(value ?? 'none'));

/** Such as `7 events, 2 in flight`, without those of which there are none. */
export const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, number]) => number !== 0)
    .map(([of, number]) => are(number, wordsOf(of).replace(/s$/, ''), wordsOf(of)))
    .join(', ');

/** Facts of one thing, a line each; what is null or undefined, or has facts of its own, is left out. */
export function factLines(facts: Facts): string[] {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined && typeof value !== 'object');
  return aligned(known.map(([name, value]) => [`${wordsOf(name)}:`, cellOf(name, value)]));
}

/** Facts of several things of one kind as a table, whose head has their names. */
export function factTable(things: readonly object[]): Line[] {
  const facts = things as readonly Facts[];
  const columns = [...new Set(facts.flatMap((row) => Object.keys(row)))];
  const heads = columns.map((column) => wordsOf(column).toUpperCase());
  const rows = facts.map((row) => columns.map((column) => cellOf(column, row[column])));
  const [head = '', ...others] = aligned([heads, ...rows]);
  return facts.length === 0 ? [] : [{ tone: 'dim', text: head }, ...others];
}

/** Each column but the last is as wide as its widest cell. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  '),
  );
}
