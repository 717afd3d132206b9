/**
 * A year as twelve months. A day with captures is a button: filled if the page changed, a ring if it did not. More
 * captures make the colour stronger. Shape and label repeat what the colour shows. Days and months without captures are
 * hidden from screen readers.
 */
import type { CalendarDay, CalendarYear } from '../../api/replies.ts';
import { counted, formatDay, monthName, WEEKDAYS, weekdayOf } from '../../app/wording.ts';

type YearProperties = {
  readonly year: CalendarYear;
  readonly chosen: string | undefined;
  onChoose(day: CalendarDay | undefined): void;
};

export function YearCalendar({ year, chosen, onChoose }: YearProperties) {
  const days = new Map(year.days.map((day) => [day.date, day]));
  // A day with one capture is not shown in the darkest colour, even if no day has more.
  const most = Math.max(4, ...year.days.map(({ captures }) => captures));
  return (
    <>
      <div class="months">
        {Array.from({ length: 12 }, (_, index) => (
          <Month
            key={index}
            year={year.year}
            month={index + 1}
            days={days}
            most={most}
            chosen={chosen}
            onChoose={onChoose}
          />
        ))}
      </div>
      <Legend />
    </>
  );
}

type MonthProperties = {
  readonly year: number;
  readonly month: number;
  readonly days: ReadonlyMap<string, CalendarDay>;
  readonly most: number;
  readonly chosen: string | undefined;
  onChoose(day: CalendarDay | undefined): void;
};

function Month({ year, month, days, most, chosen, onChoose }: MonthProperties) {
  const end = new Date(Date.UTC(2000, 0, 1));
  end.setUTCFullYear(year, month, 0);
  const length = end.getUTCDate();
  const prefix = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-`;
  const offset = weekdayOf(`${prefix}01`);
  const hasDays = [...days.keys()].some((date) => date.startsWith(prefix));
  return (
    <section
      class={hasDays ? 'month' : 'month empty'}
      aria-label={`${monthName(month)} ${year}`}
      aria-hidden={!hasDays}
    >
      <h3>{monthName(month)}</h3>
      <ol class="weekdays" aria-hidden="true">
        {WEEKDAYS.map((weekday) => (
          <li key={weekday} title={weekday}>
            {weekday.slice(0, 1)}
          </li>
        ))}
      </ol>
      <ol class="days">
        {Array.from({ length }, (_, index) => {
          const date = `${prefix}${String(index + 1).padStart(2, '0')}`;
          const day = days.get(date);
          return (
            <li key={date} style={index === 0 ? { gridColumnStart: offset + 1 } : {}} aria-hidden={!day}>
              {day ? (
                <DayButton day={day} most={most} isChosen={chosen === date} onChoose={onChoose} />
              ) : (
                <span class="day">{index + 1}</span>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

type DayProperties = {
  readonly day: CalendarDay;
  readonly most: number;
  readonly isChosen: boolean;
  onChoose(day: CalendarDay | undefined): void;
};

function DayButton({ day, most, isChosen, onChoose }: DayProperties) {
  const { date, captures, changed, statuses } = day;
  const isAllErrors = statuses.length > 0 && statuses.every((status) => status >= 400);
  const words = [
    `${WEEKDAYS[weekdayOf(date)]}, ${formatDay(date)}: ${counted(captures, 'capture')}`,
    changed > 0 ? `${changed} changed` : 'identical',
    ...(isAllErrors ? [`status ${statuses.join(', ')}`] : []),
  ].join(', ');
  const heat = Math.max(1, Math.ceil((4 * Math.sqrt(captures)) / Math.sqrt(most)));
  const looks = ['day', 'has', changed > 0 ? `changed heat-${heat}` : 'identical', isAllErrors ? 'error' : ''];
  return (
    <button
      type="button"
      class={looks.join(' ').trim()}
      aria-pressed={isChosen}
      aria-label={words}
      title={words}
      onClick={() => onChoose(isChosen ? undefined : day)}
    >
      {Number(date.slice(8))}
    </button>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li>
        <span class="day has changed heat-2" aria-hidden="true" />
        changed
      </li>
      <li>
        <span class="day has identical" aria-hidden="true" />
        identical
      </li>
      <li>
        <span class="day has changed heat-2 error" aria-hidden="true" />
        error pages only
      </li>
      <li class="muted">stronger colour: more captures</li>
    </ul>
  );
}
