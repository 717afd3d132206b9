/** The captures of one address: a calendar, the changes, and a table of all captures. Two of them can be compared. */
import { useState } from 'preact/hooks';
import { apiPath } from '../api/client.ts';
import type { Calendar, CalendarDay } from '../api/replies.ts';
import { useInfo, useReply } from '../api/request.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { counted, formatDay, shownUrl, spanWords } from '../app/wording.ts';
import { AddressTitle } from '../components/address-title.tsx';
import { CaptureTable } from '../components/captures/capture-table.tsx';
import { Timeline } from '../components/captures/timeline.tsx';
import { YearCalendar } from '../components/captures/year-calendar.tsx';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';
import { FindInVersions } from '../components/search/find-in-versions.tsx';

/** `time` is the part of a timestamp that the route has: a year or a day, which opens in the calendar. */
export function CapturesScreen({ url, time = '' }: { url: string; time?: string | undefined }) {
  useTitle(`Captures of ${shownUrl(url)}`);
  const { reply: calendar, error, isLoading, reload } = useReply<Calendar>(apiPath('calendar', { url }));
  const isMissing = error?.status === 404 || calendar?.captures === 0;
  return (
    <>
      <AddressTitle kicker="Captures of" address={shownUrl(url)} />
      {isLoading && <Waiting what="Looking for captures" />}
      {isMissing && <NoCaptures url={url} />}
      {error && !isMissing && <FaultNotice error={error} onRetry={reload} />}
      {calendar && calendar.captures > 0 && <Found url={url} calendar={calendar} time={time} />}
    </>
  );
}

function Found({ url, calendar, time }: { url: string; calendar: Calendar; time: string }) {
  const { first, last, captures, distinct, years } = calendar;
  const canSearch = useInfo()?.capabilities.search === true;
  const [year, setYear] = useState(() => yearNear(calendar, time));
  const [day, setDay] = useState<CalendarDay | undefined>(() => dayOf(calendar, time));
  const shown = years.find((one) => one.year === year);
  return (
    <>
      <p class="lead wide">
        {counted(captures, 'capture')}
        {first && last && ` ${spanWords(first, last)}`}; {counted(distinct, 'distinct content')}.{' '}
        <a href={pathTo.prefix(folderOf(url))}>All addresses under this one</a>
        {canSearch && (
          <>
            {' \u00b7 '}
            <a href={pathTo.links(url)}>Links to and from this page</a>
          </>
        )}
      </p>
      <section aria-labelledby="calendar">
        <h2 id="calendar" class="unseen">
          Calendar
        </h2>
        <Timeline
          years={years}
          chosen={year}
          onChoose={(next) => {
            setYear(next);
            setDay(undefined);
          }}
        />
        {shown && <YearCalendar year={shown} chosen={day?.date} onChoose={setDay} />}
      </section>
      {canSearch && <FindInVersions url={url} />}
      <section aria-labelledby="captures">
        <div class="section-head">
          <h2 id="captures">{day ? `${formatDay(day.date)}` : 'All captures'}</h2>
          {day && (
            <button type="button" class="plain" onClick={() => setDay(undefined)}>
              Show all captures
            </button>
          )}
        </div>
        <CaptureTable url={url} day={day?.date} />
        <p class="aside">
          <a href={pathTo.delete({ url })}>Delete captures of this address</a>. You see a preview first.
        </p>
      </section>
    </>
  );
}

/** The year with captures that is nearest to a time; the last year when no time is given. */
function yearNear({ years }: Calendar, time: string): number {
  const last = years.at(-1)?.year ?? 0;
  if (time === '') return last;
  const target = Number(time.slice(0, 4).padEnd(4, '9'));
  const distance = (year: number) => Math.abs(year - target);
  return years.reduce((best, { year }) => (distance(year) < distance(best) ? year : best), last);
}

/** The day of a time, if the day has captures. */
function dayOf({ years }: Calendar, time: string): CalendarDay | undefined {
  if (time.length < 8) return undefined;
  const date = `${time.slice(0, 4)}-${time.slice(4, 6)}-${time.slice(6, 8)}`;
  return years.flatMap(({ days }) => days).find((day) => day.date === date);
}

function NoCaptures({ url }: { url: string }) {
  const host = URL.parse(url)?.host;
  return (
    <Note title="The archive has no capture of this address.">
      <p>
        See captures <a href={pathTo.prefix(folderOf(url))}>under this address</a>
        {host && (
          <>
            , or <a href={pathTo.prefix(`http://${host}/`)}>anywhere on {host}</a>
          </>
        )}
        . The scheme, <code>www.</code> and capital letters in the host make no difference. The path must match exactly.
      </p>
      <p>
        Or{' '}
        <a href={pathTo.search({ query: `"${shownUrl(url).replaceAll('"', '')}"` })}>
          search for this address in the text of pages
        </a>
        .
      </p>
    </Note>
  );
}

/** The address up to its last slash: the prefix that finds its neighbours too. */
function folderOf(url: string): string {
  const path = url.split(/[?#]/)[0]!;
  const slash = path.lastIndexOf('/');
  return slash > path.indexOf('://') + 2 ? path.slice(0, slash + 1) : `${path}/`;
}
