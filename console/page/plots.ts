import { html } from 'htm/preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import type { PlotName, Plots as Plotted } from '../snapshot.ts';
import { count, duration } from './format.ts';

const shown: Readonly<Record<PlotName, (value: number) => string>> = {
  Lag: duration,
  Events: (value) => `${count(value)} a minute`,
  Waiting: count,
  Requests: (value) => `${value.toFixed(1)} a second`,
};

/** The last half hour. */
export const Plots = ({ plots }: { plots: Plotted | undefined }) => html`
  <section class="plots" aria-label="The last half hour">
    ${(Object.keys(shown) as PlotName[]).map((name) => html`<${Plot} key=${name} name=${name} plots=${plots} />`)}
  </section>
`;

function Plot({ name, plots }: { name: PlotName; plots: Plotted | undefined }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(null);
  const values = plots?.series[name] ?? [];
  const latest = values.at(-1) ?? null;
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
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData([[...(plots?.times ?? [])], [...values]]), [plots]);
  return html`
    <figure>
      <figcaption>${name} <span>${latest === null ? 'unknown' : shown[name](latest)}</span></figcaption>
      <div ref=${place} aria-hidden="true"></div>
    </figure>
  `;
}
