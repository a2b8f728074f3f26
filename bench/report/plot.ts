/** Draws a line plot as SVG. */
import type { Plot } from './report.ts';

const size = { width: 720, height: 380 };
const edge = { left: 70, right: 190, top: 40, bottom: 55 };
/** Distinguishable with colour blindness. @see https://jfly.uni-koeln.de/color/ */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
const marks = 5;

interface Axis {
  /** Converts a value to its position in pixels. */
  readonly place: (value: number) => number;
  readonly ticks: readonly number[];
}

function axis(values: readonly number[], scale: 'linear' | 'log', from: number, to: number): Axis {
  const finite = values.filter((value) => Number.isFinite(value) && (scale === 'linear' || value > 0));
  if (scale === 'log') {
    const low = Math.floor(Math.log10(Math.min(...finite)));
    const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...finite))));
    return {
      place: (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from),
      ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
    };
  }
  const step = roundStep(Math.max(...finite) / marks);
  const most = Math.ceil(Math.max(...finite) / step) * step;
  return {
    place: (value) => from + (value / most) * (to - from),
    ticks: Array.from({ length: Math.round(most / step) + 1 }, (_, index) => index * step),
  };
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 5, 10].find((times) => times * power >= step) ?? 10);
}

const label = (value: number): string => Number(value.toPrecision(3)).toLocaleString('en');
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export function svgOf({ title, xTitle, yTitle, xScale = 'linear', yScale = 'linear', lines }: Plot): string {
  const { width, height } = size;
  const [left, right] = [edge.left, width - edge.right];
  const [top, bottom] = [edge.top, height - edge.bottom];
  const points = lines.flatMap((line) => line.points);
  const x = axis(
    points.map(([value]) => value),
    xScale,
    left,
    right,
  );
  const y = axis(
    points.map(([, value]) => value),
    yScale,
    bottom,
    top,
  );
  const text = (at: readonly [number, number], words: string, more = '') =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" ${more}>${escaped(words)}</text>`;
  const grid = [
    ...x.ticks.map((tick) => {
      const at = x.place(tick).toFixed(1);
      return `<line x1="${at}" y1="${top}" x2="${at}" y2="${bottom}"/>`;
    }),
    ...y.ticks.map((tick) => {
      const at = y.place(tick).toFixed(1);
      return `<line x1="${left}" y1="${at}" x2="${right}" y2="${at}"/>`;
    }),
  ];
  const drawn = lines.map((line, index) => {
    const colour = colours[index % colours.length];
    const places = line.points
      .filter(([, value]) => Number.isFinite(value))
      .map(([px, py]) => [x.place(px).toFixed(1), y.place(py).toFixed(1)] as const);
    const legend = top + 10 + index * 22;
    return [
      `<polyline points="${places.map((place) => place.join(',')).join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...places.map(([px, py]) => `<circle cx="${px}" cy="${py}" r="3" fill="${colour}"/>`),
      `<line x1="${right + 15}" y1="${legend}" x2="${right + 35}" y2="${legend}" stroke="${colour}" stroke-width="3"/>`,
      text([right + 42, legend + 4], line.name),
    ].join('\n');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text([left, 24], title, 'font-size="15" font-weight="bold"'),
    `<g stroke="#dddddd">${grid.join('')}</g>`,
    ...x.ticks.map((tick) => text([x.place(tick), bottom + 18], label(tick), 'text-anchor="middle"')),
    ...y.ticks.map((tick) => text([left - 8, y.place(tick) + 4], label(tick), 'text-anchor="end"')),
    text([(left + right) / 2, height - 12], xTitle, 'text-anchor="middle"'),
    text([0, 0], yTitle, `text-anchor="middle" transform="translate(16 ${(top + bottom) / 2}) rotate(-90)"`),
    ...drawn,
    '</svg>',
    '',
  ].join('\n');
}
