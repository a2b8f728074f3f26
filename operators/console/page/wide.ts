import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** What may be wider than the window: it scrolls by itself, and says so when a part of it is out of sight. */
export function Wide({ label, children }: { label: string; children: ComponentChildren }) {
  const frame = useRef<HTMLDivElement>(null);
  const [isCut, setIsCut] = useState(false);
  useEffect(() => {
    const { current: element } = frame;
    if (!element) return;
    const resized = new ResizeObserver(() => setIsCut(element.scrollWidth > element.clientWidth));
    for (const each of [element, ...element.children]) resized.observe(each);
    return () => resized.disconnect();
  }, []);
  return html`
    ${isCut && html`<p class="reason">The table goes on to the right: scroll it sideways.</p>`}
    <div class="wide" ref=${frame} tabindex="0" role="group" aria-label=${`Table of ${label}`}>${children}</div>
  `;
}
