/** All years of an address: a bar for each month, and a button for each year. */
import { useEffect, useRef } from 'preact/hooks';
import type { CalendarYear } from '../../api/replies.ts';
import { counted } from '../../app/wording.ts';
import { monthCounts } from './month-counts.ts';

type TimelineProperties = {
  readonly years: readonly CalendarYear[];
  readonly chosen: number;
  onChoose(year: number): void;
};

export function Timeline({ years, chosen, onChoose }: TimelineProperties) {
  const counts = monthCounts(years);
  const most = Math.max(1, ...counts.flatMap(({ months }) => months));
  const box = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    // Scroll only the timeline, not the page around it.
    const button = box.current?.querySelector<HTMLElement>('[aria-pressed="true"]');
    if (button) box.current!.scrollLeft = button.offsetLeft - (box.current!.clientWidth - button.offsetWidth) / 2;
  }, []);
  return (
    <fieldset class="timeline" ref={box}>
      <legend class="unseen">Year</legend>
      {counts.map(({ year, months }) => {
        const sum = months.reduce((total, one) => total + one, 0);
        return (
          <button
            key={year}
            type="button"
            class="timeline-year"
            aria-pressed={year === chosen}
            aria-label={`${year}: ${counted(sum, 'capture')}`}
            disabled={sum === 0}
            onClick={() => onChoose(year)}
          >
            <MonthBars months={months} most={most} />
            <span>{year}</span>
          </button>
        );
      })}
    </fieldset>
  );
}

const MONTH_WIDTH = 4;
const HEIGHT = 32;

/** Twelve bars, one per month. The square root keeps small bars visible next to large ones. */
function MonthBars({ months, most }: { months: readonly number[]; most: number }) {
  return (
    <svg class="month-bars" viewBox={`0 0 ${12 * MONTH_WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {months.map((captures, month) => {
        const height = captures === 0 ? 0 : Math.max(3, HEIGHT * Math.sqrt(captures / most));
        return (
          <rect key={month} x={month * MONTH_WIDTH + 0.5} y={HEIGHT - height} width={MONTH_WIDTH - 1} height={height} />
        );
      })}
    </svg>
  );
}
