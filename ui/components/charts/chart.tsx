/**
 * A chart above a table with the same figures, so that no information is in the picture alone. The drawing library is
 * loaded with the first chart.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ChartData, Colours, DrawnChart } from './chart-drawing.ts';

type ChartProperties = {
  readonly title: string;
  /** One sentence about what the chart shows. */
  readonly description?: string;
  readonly data: ChartData;
  /** The table. */
  readonly children: ComponentChildren;
};

export function Chart({ title, description, data, children }: ChartProperties) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    let drawing: DrawnChart | undefined;
    let isGone = false;
    const redraw = async () => {
      const module = await import('./chart-drawing.ts').catch(() => undefined);
      // If the library cannot be loaded, the table is still there.
      if (isGone || !module) return;
      drawing?.destroy();
      drawing = module.drawChart(element, coloursOf(element), data);
    };
    redraw();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const observer = new ResizeObserver(() => drawing?.resize(element.clientWidth));
    observer.observe(element);
    scheme.addEventListener('change', redraw);
    addEventListener('pinakes-theme', redraw);
    return () => {
      isGone = true;
      drawing?.destroy();
      observer.disconnect();
      scheme.removeEventListener('change', redraw);
      removeEventListener('pinakes-theme', redraw);
    };
  }, [data]);
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      {description && <p class="muted">{description}</p>}
      <div class="chart-box" ref={box} aria-hidden="true" />
      {children}
    </figure>
  );
}

/** The current colours of the style sheet, in a form that a canvas understands. */
function coloursOf(element: HTMLElement): Colours {
  const probe = document.createElement('span');
  element.append(probe);
  const read = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = {
    ink: read('muted'),
    line: read('line'),
    dark: read('chart-dark'),
    middle: read('chart-middle'),
    light: read('chart-light'),
  };
  probe.remove();
  return colours;
}
