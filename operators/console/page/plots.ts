import { html } from 'htm/preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { count, duration } from '../../operations/figures.ts';
import type { PlotName, Plots as Plotted } from '../snapshot.ts';

const shown: Readonly<Record<PlotName, (value: number) => string>> = {
  Lag: duration,
  Events: (value) => `${count(value)} a minute`,
  Waiting: count,
  Requests: (value) => `${value.toFixed(1)} a second`,
};

/** The last half hour. */
export const Plots = ({ plots }: { plots: Plotted | undefined }) => html`
  <section aria-labelledby="plots">
    <h2 id="plots">The last half hour</h2>
    <div class="plots">
    ${(Object.keys(shown) as PlotName[]).map((name) => html`<${Plot} key=${name} name=${name} plots=${plots} />`)}
    </div>
  </section>
`;

function Plot({ name, plots }: { name: PlotName; plots: Plotted | undefined }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(null);
  const values = plots?.series[name] ?? [];
  const known = values.filter((value) => value !== null);
  const latest = known.at(-1);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const size = () => ({ width: element.clientWidth, height: 70 });
    const made = new UPlot(
      {
        ...size(),
        legend: { show: false },
        cursor: { show: false },
        axes: [{ show: false }, { show: false }],
        padding: [4, 0, 4, 0],
        scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high ?? 1)] } },
        series: [
          {},
          {
            stroke: () => getComputedStyle(element).color,
            width: 1.5,
            points: { show: false },
            spanGaps: false,
          },
        ],
      },
      [[], []],
      element,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize(size()));
    resized.observe(element);
    const colors = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => made.redraw();
    colors.addEventListener('change', redraw);
    return () => {
      colors.removeEventListener('change', redraw);
      resized.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData([[...(plots?.times ?? [])], [...values]]), [plots]);
  return html`
    <figure>
      <figcaption>${name} <span>${latest === undefined ? 'not known yet' : shown[name](latest)}</span></figcaption>
      <div ref=${place} aria-hidden="true"></div>
      <p class="reason">${known.length > 0 && `at most ${shown[name](Math.max(...known))}`}</p>
    </figure>
  `;
}
