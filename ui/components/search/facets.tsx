/**
 * The facets of the results, whose values are links that filter; and the chosen filters, with links that remove them.
 */
import { useState } from 'preact/hooks';
import type { SearchPage } from '../../api/replies.ts';
import { readableHost } from '../../app/readable-host.ts';
import { FACETS, type FacetName, pathTo, type SearchInput } from '../../app/route.ts';
import { formatCount, kindOfContent } from '../../app/wording.ts';
import { Icon } from '../icon.tsx';

const SHOWN = 6;

const LABELS: Readonly<Record<FacetName, string>> = {
  site: 'Site',
  type: 'Type',
  language: 'Language',
  year: 'Year',
  collection: 'Collection',
};

const LANGUAGES =
  typeof Intl.DisplayNames === 'function' ? new Intl.DisplayNames('en', { type: 'language' }) : undefined;

function shownValue(name: FacetName, value: string): string {
  if (name === 'type') return kindOfContent(value);
  if (name === 'site') return readableHost(value);
  if (name !== 'language') return value;
  try {
    return LANGUAGES?.of(value) ?? value;
  } catch {
    return value;
  }
}

export function ChosenFilters({ input }: { input: SearchInput }) {
  const chosen = FACETS.filter((name) => input.filters[name] !== undefined);
  if (chosen.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters">
      {chosen.map((name) => {
        const { [name]: value = '', ...filters } = input.filters;
        const text = shownValue(name, value);
        return (
          <li key={name}>
            <a class="chip" href={pathTo.search({ ...input, filters })} aria-label={`${LABELS[name]} ${text}: remove`}>
              {LABELS[name]}: {text} <Icon name="close" />
            </a>
          </li>
        );
      })}
    </ul>
  );
}

type FacetListProperties = {
  readonly facets: NonNullable<SearchPage['facets']>;
  readonly leftOut: SearchPage['facetsLeftOut'];
  readonly input: SearchInput;
};

export function FacetList({ facets, leftOut, input }: FacetListProperties) {
  const useful = FACETS.filter((name) => input.filters[name] === undefined && facets[name].length > 1);
  // On a phone the facets are closed at first, so that the results come first.
  const isNarrow = matchMedia('(max-width: 46rem)').matches;
  if (useful.length === 0) return null;
  return (
    <aside class="facets" aria-label="Narrow the results">
      {useful.map((name) => (
        <details key={name} open={!isNarrow}>
          <summary>{LABELS[name]}</summary>
          <FacetValues name={name} values={facets[name]} leftOut={leftOut?.[name]} input={input} />
        </details>
      ))}
    </aside>
  );
}

type FacetValuesProperties = {
  readonly name: FacetName;
  readonly values: NonNullable<SearchPage['facets']>[FacetName];
  readonly leftOut: number | undefined;
  readonly input: SearchInput;
};

function FacetValues({ name, values, leftOut, input }: FacetValuesProperties) {
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole ? values : values.slice(0, SHOWN);
  // Years are sorted by year, the other facets by count.
  const list = name === 'year' ? [...shown].sort((a, b) => b.value.localeCompare(a.value)) : shown;
  return (
    <>
      <ul>
        {list.map(({ value, count }) => (
          <li key={value}>
            <a href={pathTo.search({ ...input, filters: { ...input.filters, [name]: value } })}>
              {shownValue(name, value)}
            </a>{' '}
            <span class="muted">{formatCount(count)}</span>
          </li>
        ))}
      </ul>
      {isWhole && leftOut && <p class="muted">and {formatCount(leftOut)} more</p>}
      {values.length > SHOWN && (
        <button type="button" class="plain" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? 'Show fewer' : `Show ${formatCount(values.length - SHOWN)} more`}
        </button>
      )}
    </>
  );
}
