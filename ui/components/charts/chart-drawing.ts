/** Draws charts with uPlot: grouped bars, and areas over time. */
import uPlot from 'uplot';
import { formatBytes, monthName } from '../../app/wording.ts';

export type Colours = {
  readonly ink: string;
  readonly line: string;
  readonly dark: string;
  readonly middle: string;
  readonly light: string;
};

/** A group of bars for each name. A missing value has no bar. */
export type BarData = {
  readonly kind: 'bars';
  readonly unit: 'percent' | 'bytes';
  readonly names: readonly string[];
  readonly series: readonly { readonly label: string; readonly values: readonly (number | undefined)[] }[];
};

/** Bytes at the end of each month. Each area lies within the area before it. */
export type AreaData = {
  readonly kind: 'areas';
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly { readonly label: string; readonly bytes: readonly number[] }[];
};

export type ChartData = BarData | AreaData;

export type DrawnChart = { resize(width: number): void; destroy(): void };

const HEIGHT = 260;
const NARROW = 520;

export function drawChart(element: HTMLElement, colours: Colours, chart: ChartData): DrawnChart {
  const width = element.clientWidth;
  const [options, data] = chart.kind === 'bars' ? bars(chart, colours, width) : areas(chart, colours);
  const plot = new uPlot({ ...options, width, height: HEIGHT }, data, element);
  return { resize: (next) => plot.setSize({ width: next, height: HEIGHT }), destroy: () => plot.destroy() };
}

type Plan = [Omit<uPlot.Options, 'width' | 'height'>, uPlot.AlignedData];

/** Each group takes one slot more than it has bars, as the space between groups. */
function bars({ unit, names, series }: BarData, colours: Colours, width: number): Plan {
  const stride = series.length + 1;
  const places = names.flatMap((_, group) => series.map((_, index) => group * stride + index));
  const values = series.map(({ values: mineOnly }, mine) =>
    names.flatMap((_, group) => series.map((_, index) => (index === mine ? (mineOnly[group] ?? null) : null))),
  );
  const fills = unit === 'bytes' ? [colours.light, colours.dark] : [colours.dark, colours.middle, colours.light];
  const labelsMax = Math.max(1, Math.floor(width / 90));
  const every = Math.ceil(names.length / labelsMax);
  const middle = (series.length - 1) / 2;
  const splits = names.map((_, group) => group * stride + middle).filter((_, group) => group % every === 0);
  return [
    {
      ...shared(),
      scales: {
        x: { time: false, range: [-1, names.length * stride - 1] },
        y: { range: unit === 'percent' ? [0, 100] : (_, __, most) => [0, most * 1.05 || 1] },
      },
      axes: [
        {
          ...axis(colours),
          grid: { show: false },
          ticks: { show: false },
          splits: () => splits,
          values: (_, at) => at.map((place) => shortened(names[Math.floor(place / stride)] ?? '', width)),
        },
        unit === 'percent'
          ? { ...axis(colours), size: 52, values: (_, at) => at.map((value) => `${value} %`) }
          : bytesAxis(colours),
      ],
      series: [
        {},
        ...series.map(({ label }, index) => ({
          label,
          fill: fills[index] ?? colours.dark,
          stroke: fills[index] ?? colours.dark,
          width: 0,
          points: { show: false },
          paths: uPlot.paths.bars!({ size: [0.9, 42], align: 0 }),
        })),
      ],
    },
    [places, ...values],
  ];
}

function areas({ times, series }: AreaData, colours: Colours): Plan {
  const fills = [colours.light, colours.dark];
  return [
    {
      ...shared(),
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      scales: { x: { time: true }, y: { range: (_, __, most) => [0, most * 1.05 || 1] } },
      axes: [{ ...axis(colours), space: 90, incrs: MONTHS, values: (_, at) => at.map(monthOf) }, bytesAxis(colours)],
      series: [
        {},
        ...series.map(({ label }, index) => ({
          label,
          fill: fills[index] ?? colours.dark,
          stroke: fills[index] ?? colours.dark,
          width: 1.5,
          points: { show: times.length < 40, size: 5, fill: fills[index] ?? colours.dark },
          paths: uPlot.paths.stepped!({ align: 1 }),
        })),
      ],
    },
    [[...times], ...series.map(({ bytes }) => [...bytes])],
  ];
}

function shared() {
  return { legend: { show: false }, cursor: { show: false }, padding: [12, 8, 0, 0] as uPlot.Padding };
}

function axis(colours: Colours): uPlot.Axis {
  const fine = { stroke: colours.line, width: 1 };
  return { stroke: colours.ink, grid: fine, ticks: fine, font: '12px system-ui, sans-serif' };
}

function bytesAxis(colours: Colours): uPlot.Axis {
  return { ...axis(colours), size: 72, values: (_, at) => at.map((value) => (value === 0 ? '0' : formatBytes(value))) };
}

const DAY = 86_400;
/** The steps of the time axis that uPlot treats as whole months and years. */
const MONTHS = [30, 60, 90, 120, 180, 365, 730, 1825, 3650].map((days) => days * DAY);

function monthOf(seconds: number): string {
  const time = new Date(seconds * 1000);
  return `${monthName(time.getUTCMonth() + 1).slice(0, 3)} ${time.getUTCFullYear()}`;
}

/** Keeps both ends of a name, because the names of crawls of one site often differ at the end. */
function shortened(name: string, width: number): string {
  const most = width < NARROW ? 9 : 13;
  if (name.length <= most) return name;
  const start = Math.floor((most - 1) / 2);
  return `${name.slice(0, start)}\u2026${name.slice(name.length - (most - 1 - start))}`;
}
