/** Search: results grouped by address, with snippets and filters, and help with the query language. */
import { apiPath } from '../api/client.ts';
import type { SearchPage, SearchResult } from '../api/replies.ts';
import { useList } from '../api/request.ts';
import { useStats } from '../api/stats.ts';
import { navigate, useTitle } from '../app/navigation.ts';
import { looksLikeAddress, pathTo, type SearchInput, type Sort, withScheme } from '../app/route.ts';
import { counted } from '../app/wording.ts';
import { Note, Waiting } from '../components/notice.tsx';
import { ChosenFilters, FacetList } from '../components/search/facets.tsx';
import { QueryFault } from '../components/search/query-fault.tsx';
import { QueryHelp } from '../components/search/query-help.tsx';
import { ResultItem } from '../components/search/result.tsx';
import { SearchBox } from '../components/search/search-box.tsx';
import { sentQuery } from '../components/search/sent-query.ts';

const PAGE = 20;

const SORT_LABELS: readonly (readonly [Sort, string])[] = [
  ['relevance', 'best first'],
  ['date', 'newest first'],
  ['oldest', 'oldest first'],
  ['inlinks', 'most cited first'],
  ['rank', 'highest rank first'],
];

export function SearchScreen({ input }: { input: SearchInput }) {
  const isEmpty = input.query.trim() === '' && Object.keys(input.filters).length === 0;
  const isArchiveEmpty = useStats().reply?.captures === 0;
  useTitle(isEmpty ? 'Search' : `Search for ${input.query}`);
  return (
    <>
      <h1 class="search-title">Search</h1>
      <SearchBox initial={input.query} label="Find" />
      {!isEmpty && <Results input={input} isArchiveEmpty={isArchiveEmpty} />}
      {isEmpty && (isArchiveEmpty ? <EmptyArchive /> : <QueryHelp isOpen />)}
    </>
  );
}

function EmptyArchive() {
  return (
    <Note title="The archive is empty.">
      <p>
        There is nothing to search yet. <a href={pathTo.home()}>See how to add pages</a>
      </p>
    </Note>
  );
}

function Results({ input, isArchiveEmpty }: { input: SearchInput; isArchiveEmpty: boolean }) {
  const { text, typedAt } = sentQuery(input);
  const path = apiPath('search', { q: text, sort: input.sort, facets: 'true', limit: PAGE });
  const list = useList<SearchResult, SearchPage>(path);
  const { first } = list;
  // The statistics may be older than the index, so results are shown even if the archive seems to be empty.
  if (isArchiveEmpty && (first?.total === 0 || list.error?.code === 'INDEX_MISSING')) return <EmptyArchive />;
  return (
    <>
      <ChosenFilters input={input} />
      {list.error && <QueryFault error={list.error} query={input.query} typedAt={typedAt} onRetry={list.more} />}
      {list.error?.at !== undefined && <QueryHelp isOpen />}
      {first && first.total === 0 && <NothingFound input={input} isGrowing={first.indexing === 'working'} />}
      {first && first.total > 0 && (
        <div class="search-layout">
          <section class="found" aria-labelledby="results">
            <div class="results-head">
              <h2 id="results" aria-live="polite">
                {first.isTotalExact ? '' : 'About '}
                {counted(first.total, 'result')}
              </h2>
              <SortChoice input={input} />
            </div>
            {first.indexing === 'working' && (
              <p class="muted">The index is being updated. Some pages may be missing.</p>
            )}
            {first.indexing === 'failed' && (
              <p class="muted">The index cannot be updated at present. New pages may be missing.</p>
            )}
            <ol class="results">
              {list.items.map((result) => (
                <ResultItem key={`${result.url} ${result.timestamp}`} result={result} input={input} />
              ))}
            </ol>
            {list.isLoading && <Waiting what="Fetching results" />}
            {list.hasMore && !list.isLoading && (
              <button type="button" class="more" onClick={list.more}>
                Show more results
              </button>
            )}
          </section>
          {first.facets && <FacetList facets={first.facets} leftOut={first.facetsLeftOut} input={input} />}
        </div>
      )}
      {!first && list.isLoading && <Waiting what="Searching" />}
    </>
  );
}

function SortChoice({ input }: { input: SearchInput }) {
  return (
    <label class="sort-choice">
      Order{' '}
      <select
        value={input.sort}
        onChange={(event) => navigate(pathTo.search({ ...input, sort: event.currentTarget.value as Sort }))}
      >
        {SORT_LABELS.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

function NothingFound({ input, isGrowing }: { input: SearchInput; isGrowing: boolean }) {
  const hasFilters = Object.keys(input.filters).length > 0;
  const word = input.query.trim();
  return (
    <>
      <Note title="Nothing was found.">
        {isGrowing && <p>The index is being updated. Try again in a while.</p>}
        {hasFilters && (
          <p>
            <a href={pathTo.search({ query: input.query })}>Search without the filters</a>
          </p>
        )}
        <p>
          The search covers only text: HTML, plain text, PDF, office documents, feeds and SVG.{' '}
          {looksLikeAddress(word) && <a href={pathTo.captures(withScheme(word))}>See captures of {word}</a>}
        </p>
      </Note>
      <QueryHelp isOpen />
    </>
  );
}
