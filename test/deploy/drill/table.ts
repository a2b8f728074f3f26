import type { Row } from './scene.ts';

/** The drill's result for a person, as a Markdown table. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ alarm, provokedBy, seen, mendedBy, seconds }) =>
    [alarm, provokedBy, seen, mendedBy, String(seconds)].join(' | '),
  );
  return [
    '| alarm | provoked by | seen | mended by | seconds |',
    '|---|---|---|---|---|',
    ...lines.map((line) => `| ${line} |`),
  ].join('\n');
}
