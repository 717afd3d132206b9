/** Routes that query the search index: results, links, and when words appeared on a page. */
import { Type } from 'typebox';
import { formatTimestamp, formatW3cDate } from '../../base/index.ts';
import { type LinkEnd, parseQuery, type SearchResult } from '../../search/index.ts';
import { typedUrl, urlKey } from '../../url/index.ts';
import { HttpProblem } from '../http/problem.ts';
import type { IndexingStatus } from '../indexing.ts';
import {
  Count,
  closed,
  countOf,
  limitOf,
  named,
  PageCursor,
  TimeInput,
  Timestamp,
  UrlInput,
  W3cDate,
} from '../schema.ts';
import { parseTimeInput } from '../selection-input.ts';
import { type ApiRoute, route } from './route.ts';
import type { SearchService } from './search-service.ts';

const TAG = 'search';

const QueryInput = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'Words, "phrases", -not, OR, and fields such as site: and from:. docs/search.md describes the language.',
});

const Result = named('SearchResult', {
  url: Type.String(),
  time: W3cDate,
  timestamp: Timestamp,
  title: Type.String(),
  snippet: Type.String(),
  marks: Type.Array(Type.Array(Count, { minItems: 2, maxItems: 2 }), {
    description: 'Start and end in the snippet of each matching word, in UTF-16 code units.',
  }),
  score: Type.Number({ description: 'Higher is better. Comparable within one search only.' }),
  status: Count,
  mime: Type.String(),
  language: Type.String(),
  collection: Type.String(),
  bytes: Count,
  digest: Type.String({ description: 'Of the content.' }),
  inlinks: countOf('Pages that link to this page.'),
  rank: Type.Number({ minimum: 0, description: 'PageRank; the mean is 1.' }),
  versions: countOf('Distinct contents of this URL that match.'),
  captures: countOf('All captures of this URL in the index.'),
  first: W3cDate,
  last: W3cDate,
});

const FacetValues = Type.Array(named('Facet', { value: Type.String(), count: Count }));

const Results = named('SearchPage', {
  items: Type.Array(Result),
  next: Type.Optional(Type.String({ description: 'Send as `after`.' })),
  total: Count,
  isTotalExact: Type.Boolean({ description: 'False when there are more results than were counted.' }),
  facets: Type.Optional(
    closed({
      site: FacetValues,
      type: FacetValues,
      language: FacetValues,
      year: FacetValues,
      collection: FacetValues,
    }),
  ),
  facetsLeftOut: Type.Optional(
    Type.Record(Type.String(), Count, {
      description:
        'By facet: how many values there are besides the twenty most frequent. Without an entry, all values are listed.',
    }),
  ),
  indexing: Type.Enum(['off', 'waiting', 'working', 'failed'], {
    title: 'IndexingState',
    description: 'The state of the index. `working`: there may be more results soon.',
  }),
});

const LinkItem = named('LinkEnd', {
  url: Type.String({ description: 'The other end.' }),
  kind: Type.String({ description: '`anchor`, `frame`, `image`, `style`, ...' }),
  text: Type.String(),
  isNofollow: Type.Boolean(),
  isEmbed: Type.Boolean({ description: 'Whether the page needs it for display.' }),
  first: W3cDate,
  last: W3cDate,
  isKnown: Type.Boolean({ description: 'Whether the index has a page at the other end.' }),
});

const Links = named('LinkPage', {
  items: Type.Array(LinkItem),
  next: Type.Optional(Type.String({ description: 'Send as `after`.' })),
  total: countOf('Direction `in`: pages that link to the URL. Direction `out`: links.'),
});

const Appearances = named('Appearances', {
  captures: countOf('Captures of the URL in the index.'),
  found: countOf('Captures that match.'),
  first: Type.Optional(W3cDate),
  last: Type.Optional(W3cDate),
  spans: Type.Array(closed({ from: W3cDate, to: W3cDate, captures: Count }), {
    description: 'Spans of time in which all captures match, in order.',
  }),
  spansAreAll: Type.Boolean({ description: 'False when there are more spans than listed.' }),
});

const SPANS_MAX = 1000;
const SEARCH_PROBLEMS = [429];

export function searchRoutes(search: SearchService, indexing: () => IndexingStatus): ApiRoute[] {
  return [
    route({
      method: 'GET',
      right: 'read',
      path: '/api/search',
      tag: TAG,
      summary: 'Pages that match a query',
      description:
        'A query with an error is refused with `BAD_QUERY`; `at` and `length` are the position of the error.',
      query: closed({
        q: QueryInput,
        sort: Type.Optional(Type.Enum(['relevance', 'date', 'oldest', 'inlinks', 'rank'])),
        group: Type.Optional(
          Type.Enum(['url', 'capture'], { description: 'One result for each URL, or one for each capture.' }),
        ),
        facets: Type.Optional(
          Type.Boolean({ description: 'Also count the results by site, type, language, year and collection.' }),
        ),
        asOf: Type.Optional(TimeInput),
        after: Type.Optional(PageCursor),
        limit: limitOf(500, 20),
      }),
      reply: { status: 200, schema: Results, description: 'A page of results.' },
      problems: SEARCH_PROBLEMS,
      handle: async ({ query, signal }) => {
        const { q, sort, group, facets = false, after, limit = 20 } = query;
        checkQuery(q);
        const asOf = query.asOf === undefined ? undefined : parseTimeInput(query.asOf, 'end');
        const options = { ...(sort && { sort }), ...(group && { group }), facets, after, limit, asOf };
        const { batch: _, ...page } = await search.ask((thread) => thread.search(q, options), signal);
        return { ...page, items: page.items.map(resultItem), indexing: indexing().state };
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/links',
      tag: TAG,
      summary: 'Links to a page, or from it',
      query: closed({
        url: UrlInput,
        direction: Type.Optional(Type.Enum(['in', 'out'], { description: 'The default is `in`.' })),
        at: Type.Optional(TimeInput),
        after: Type.Optional(
          Type.String({
            pattern: '^\\d{1,15}$',
            'x-in-words': 'be the `next` of the page before',
            description: 'The `next` of the page before.',
          }),
        ),
        limit: limitOf(1000, 100),
      }),
      reply: { status: 200, schema: Links, description: 'A page of links; empty when the index has none.' },
      problems: SEARCH_PROBLEMS,
      handle: async ({ query, signal }) => {
        const { url, direction = 'in', after, limit = 100 } = query;
        const at = query.at === undefined ? undefined : parseTimeInput(query.at, 'end');
        const list = await search.ask((thread) => thread.links(url, { direction, at, after, limit }), signal);
        return { ...list, items: list.items.map(linkItem) };
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/appearances',
      tag: TAG,
      summary: 'When words or a phrase were on a page',
      query: closed({ url: UrlInput, q: QueryInput }),
      reply: { status: 200, schema: Appearances, description: 'The first time, the last time, and the spans between.' },
      problems: SEARCH_PROBLEMS,
      handle: async ({ query, signal }) => {
        checkQuery(query.q);
        const found = await search.ask((thread) => thread.appearances(urlKey(typedUrl(query.url)), query.q), signal);
        const { captures, found: matching, first, last, spans } = found;
        return {
          captures,
          found: matching,
          ...(first !== undefined && { first: formatW3cDate(first) }),
          ...(last !== undefined && { last: formatW3cDate(last) }),
          spans: spans.slice(0, SPANS_MAX).map(({ from, to, captures: within }) => ({
            from: formatW3cDate(from),
            to: formatW3cDate(to),
            captures: within,
          })),
          spansAreAll: spans.length <= SPANS_MAX,
        };
      },
    }),
  ];
}

/** Refuses a query with an error here, because the error of the search thread would not have the position. */
function checkQuery(text: string): void {
  const parsed = parseQuery(text);
  if (!('problem' in parsed)) return;
  const { at, length, message } = parsed.problem;
  throw new HttpProblem({
    status: 400,
    code: 'BAD_QUERY',
    message: `the query cannot be read: ${message}`,
    advice: 'Correct the query at the marked position. docs/search.md describes the language.',
    at,
    length,
  });
}

function resultItem(result: SearchResult): object {
  const { time, first, last, ...rest } = result;
  return {
    ...rest,
    time: formatW3cDate(time),
    timestamp: formatTimestamp(time),
    first: formatW3cDate(first),
    last: formatW3cDate(last),
  };
}

function linkItem({ first, last, ...rest }: LinkEnd): object {
  return { ...rest, first: formatW3cDate(first), last: formatW3cDate(last) };
}
