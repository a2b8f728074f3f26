/** The number of characters to insert, remove or replace to turn one name into the other. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    let diagonal = index;
    row = row.reduce<number[]>((next, above, column) => {
      const left = next[column - 1];
      next.push(left === undefined ? index + 1 : Math.min(above + 1, left + 1, diagonal));
      diagonal = above + (letter === to[column] ? 0 : 1);
      return next;
    }, []);
  }
  return row.at(-1) ?? 0;
}

/**
 * A hint at the known name that an unknown one probably stands for, for the end of a message; empty if none is similar.
 * Similar means that at most a third of the name differs.
 */
export function didYouMean(unknown: string, known: readonly string[]): string {
  const distances = known.map((name) => ({
    name,
    distance: edits(unknown.toLowerCase(), name.toLowerCase()),
  }));
  const [nearest] = distances.sort((a, b) => a.distance - b.distance);
  const isSimilar = nearest && nearest.distance <= Math.max(unknown.length, nearest.name.length) / 3;
  return isSimilar ? `: did you mean ${nearest.name}?` : '';
}
