/** The banner above a replayed page: its address and time, with links to its other captures. */
import { useEffect, useState } from 'preact/hooks';
import type { Calendar, ShownCapture } from '../../api/replies.ts';
import { navigate } from '../../app/navigation.ts';
import { pathTo, withScheme } from '../../app/route.ts';
import { counted, formatClock, formatShortDay, formatTime, readableUrl, w3cDate } from '../../app/wording.ts';
import { monthCounts } from '../captures/month-counts.ts';
import { Icon } from '../icon.tsx';
import { Logo } from '../masthead.tsx';

type BannerProperties = {
  readonly url: string;
  readonly timestamp: string;
  readonly previous: ShownCapture | undefined;
  readonly next: ShownCapture | undefined;
  /** True while `previous` and `next` still belong to the page that was shown before. */
  readonly isStale: boolean;
  readonly calendar: Calendar | undefined;
};

export function FrameBanner({ url, timestamp, previous, next, isStale, calendar }: BannerProperties) {
  const time = w3cDate(timestamp);
  return (
    <header class="banner">
      <a class="banner-home" href={pathTo.home()} aria-label="Pinakes, home">
        <Logo />
      </a>
      <AddressForm url={url} timestamp={timestamp} />
      <div class="banner-time">
        <Step name="Previous capture" icon="left" capture={previous} shortcut="p" isStale={isStale} />
        <time dateTime={time} title={formatTime(time)}>
          {formatShortDay(time)} <span class="clock">{formatClock(time)}</span>
        </time>
        <Step name="Next capture" icon="right" capture={next} shortcut="n" isStale={isStale} />
      </div>
      <a class="banner-calendar" href={pathTo.captures(url)}>
        {calendar && calendar.years.length > 0 ? (
          <>
            <Sparkline calendar={calendar} timestamp={timestamp} />
            <span>{counted(calendar.captures, 'capture')}</span>
          </>
        ) : (
          <>
            <Icon name="calendar" />
            <span>All captures</span>
          </>
        )}
      </a>
      <a
        class="icon-button banner-close"
        href={pathTo.frame(timestamp, url, 'if_')}
        aria-label="Hide this banner"
        title="Hide this banner"
      >
        <Icon name="close" />
      </a>
    </header>
  );
}

function AddressForm({ url, timestamp }: { url: string; timestamp: string }) {
  const [typed, setTyped] = useState(readableUrl(url));
  useEffect(() => setTyped(readableUrl(url)), [url]);
  return (
    <form
      class="banner-address"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.trim() !== '') navigate(pathTo.frame(timestamp, withScheme(typed.trim())));
      }}
    >
      <input
        type="text"
        inputMode="url"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-label="Address of the archived page. Change it to see another page at this time"
        data-shortcut="search"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </form>
  );
}

type StepProperties = {
  readonly name: string;
  readonly icon: 'left' | 'right';
  readonly capture: ShownCapture | undefined;
  readonly shortcut: 'n' | 'p';
  /**
   * The capture belongs to the page that was shown before. The link stays until the next capture is known, so that it
   * keeps the keyboard focus.
   */
  readonly isStale: boolean;
};

function Step({ name, icon, capture, shortcut, isStale }: StepProperties) {
  if (!capture) {
    return (
      <button type="button" class="icon-button" disabled aria-label={`${name}: none`}>
        <Icon name={icon} />
      </button>
    );
  }
  const label = `${name}: ${formatTime(capture.time)}`;
  return (
    <a
      class="icon-button"
      href={pathTo.frame(capture.timestamp, capture.url)}
      aria-label={label}
      title={label}
      data-shortcut={shortcut}
      onClick={(event) => {
        if (isStale) event.preventDefault();
      }}
    >
      <Icon name={icon} />
    </a>
  );
}

const HEIGHT = 24;
const BAR_WIDTH = 2;

/** Captures by month over all years. The month of the shown capture is marked. */
function Sparkline({ calendar, timestamp }: { calendar: Calendar; timestamp: string }) {
  const counts = monthCounts(calendar.years);
  const bars = counts.flatMap(({ months }) => months);
  const most = Math.max(1, ...bars);
  const year = counts.findIndex((one) => one.year === Number(timestamp.slice(0, 4)));
  const shown = 12 * year + Number(timestamp.slice(4, 6)) - 1;
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${bars.length * BAR_WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <rect class="spark-here" x={shown * BAR_WIDTH} y={0} width={BAR_WIDTH} height={HEIGHT} />
      {bars.map((captures, index) => {
        const height = captures === 0 ? 0 : Math.max(3, HEIGHT * Math.sqrt(captures / most));
        return (
          <rect
            key={index}
            class={index === shown ? 'spark-shown' : 'spark'}
            x={index * BAR_WIDTH}
            y={HEIGHT - height}
            width={BAR_WIDTH * 0.8}
            height={height}
          />
        );
      })}
    </svg>
  );
}
