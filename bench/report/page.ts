/** Makes docs/contribute/performance.md, with its plots, of the results that are kept. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { svgOf } from './plot.ts';
import { type Figure, isMet, shownTarget, shownValue, type Table } from './report.ts';
import type { Result } from './results.ts';

const docs = fileURLToPath(new URL('../../docs/contribute/', import.meta.url));
const plots = 'performance';

export function writePage(results: readonly Result[]): void {
  rmSync(docs + plots, { recursive: true, force: true });
  mkdirSync(docs + plots, { recursive: true });
  writeFileSync(`${docs}performance.md`, [introduction, ...results.map(section)].join('\n\n').concat('\n'));
}

const introduction = `# What it costs, in time and money

Made by \`npm run bench\`; \`npm run bench -- NAME\` makes one part again. A ratio compares with a yardstick that ran in
the same minutes on the same machine, for times of one machine say little on another. Where there were several rounds,
the figure is their median, with the range in brackets. How far it scales, and what bounds it first, is in
[capacity.md](../operate/capacity.md).`;

function section(result: Result): string {
  const { bench, does, date, machine, isShort, figures, tables = [], plots: drawn = [], notes = [] } = result;
  return [
    `## ${bench}`,
    `How it was measured: ${does}. ${date}, ${machine}.${isShort ? ' **A short run: it shows that the bench works, not how fast the bridge is.**' : ''}`,
    figureTable(figures),
    ...drawn.map((plot, index) => {
      const file = `${plots}/${bench}-${index + 1}.svg`;
      writeFileSync(docs + file, svgOf(plot));
      return `![${plot.title}](${file})`;
    }),
    ...tables.map(markdownTable),
    ...notes
      .map((note) => `- ${note}`)
      .join('\n')
      .split('\n\n')
      .filter(Boolean),
  ].join('\n\n');
}

function figureTable(figures: readonly Figure[]): string {
  const verdicts = { true: 'yes', false: '**no**', undefined: '' };
  return table(
    ['figure', 'value', 'target', 'met'],
    figures.map((figure) => [
      figure.what,
      shownValue(figure),
      shownTarget(figure),
      verdicts[`${isMet(figure)}`],
    ]),
  );
}

const markdownTable = ({ title, columns, rows }: Table): string => `**${title}**\n\n${table(columns, rows)}`;

const table = (columns: readonly string[], rows: Table['rows']): string =>
  [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
