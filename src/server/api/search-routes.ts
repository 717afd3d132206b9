/** Routes that ask the search index: results, links, and when something appeared on a page. */
import { Type } from 'typebox';
import { formatTimestamp, formatW3cDate } from '../../base/index.ts';
import { type LinkEnd, parseQuery, type SearchResult } from '../../search/index.ts';
import { typedUrl, urlKey } from '../../url/index.ts';
import { askedTime } from '../asked-selection.ts';
import { HttpProblem } from '../http/problem.ts';
import { After, AskedTime, AskedUrl, Count, closed, limitOf, named, Timestamp, When } from '../shape.ts';
import type { ApiTools } from './api-tools.ts';
import { type ApiRoute, route } from './route.ts';

const TAG = 'search';
const SORTS = ['relevance', 'date', 'oldest', 'inlinks', 'rank'] as const;
const GROUPS = ['url', 'capture'] as const;
const DIRECTIONS = ['in', 'out'] as const;

const AskedQuery = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'Words, "phrases", -not, OR, and fields such as site: and from:; docs/search.md has the language.',
});

const Result = named('SearchResult', {
  url: Type.String(),
  time: When,
  timestamp: Timestamp,
  title: Type.String(),
  snippet: Type.String(),
  marks: Type.Array(Type.Array(Count, { minItems: 2, maxItems: 2 }), {
    description: 'Start and end in the snippet of each word that was found, in UTF-16 code units.',
  }),
  score: Type.Number({ description: 'The higher the better; to be compared within one search only.' }),
  status: Count,
  mime: Type.String(),
  language: Type.String(),
  collection: Type.String(),
  bytes: Count,
  digest: Type.String({ description: 'Of the content.' }),
  inlinks: Type.Integer({ minimum: 0, description: 'Pages that cite this one.' }),
  rank: Type.Number({ minimum: 0, description: 'PageRank; the mean is 1.' }),
  versions: Type.Integer({ minimum: 0, description: 'Contents of this URL that fit.' }),
  captures: Type.Integer({ minimum: 0, description: 'Captures of this URL in the index, whatever their content.' }),
  first: When,
  last: When,
});

const FacetValues = Type.Array(named('Facet', { value: Type.String(), count: Count }));

const Results = named('SearchPage', {
  items: Type.Array(Result),
  next: Type.Optional(Type.String({ description: 'Send as `after`.' })),
  total: Count,
  isTotalExact: Type.Boolean({ description: 'False when more was found than is counted out.' }),
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
      description: 'By facet, how many values it has besides the twenty largest, which are told; absent where all are.',
    }),
  ),
  indexing: Type.Enum(['off', 'waiting', 'working', 'failed'], {
    title: 'IndexingState',
    description: 'Whether the server is bringing the index up to date: `working` means that there may be more soon.',
  }),
});

const LinkItem = named('LinkEnd', {
  url: Type.String({ description: 'The other end.' }),
  kind: Type.String({ description: '`anchor`, `frame`, `image`, `style`, ...' }),
  text: Type.String(),
  isNofollow: Type.Boolean(),
  isEmbed: Type.Boolean({ description: 'Needed to show the page.' }),
  first: When,
  last: When,
  isKnown: Type.Boolean({ description: 'The index has a page at the other end.' }),
});

const Links = named('LinkPage', {
  items: Type.Array(LinkItem),
  next: Type.Optional(Type.String({ description: 'Send as `after`.' })),
  total: Type.Integer({ minimum: 0, description: 'In: pages that link here. Out: links.' }),
});

const Appearances = named('Appearances', {
  captures: Type.Integer({ minimum: 0, description: 'Captures of the URL that are in the index.' }),
  found: Type.Integer({ minimum: 0, description: 'Those that fit.' }),
  first: Type.Optional(When),
  last: Type.Optional(When),
  spans: Type.Array(closed({ from: When, to: When, captures: Count }), {
    description: 'Times in which all captures fit, in order.',
  }),
  spansAreAll: Type.Boolean({ description: 'False when there are more than are listed.' }),
});

const SPANS_MAX = 1000;
const SEARCH_PROBLEMS = [429];

export function searchRoutes({ search, indexing }: ApiTools): ApiRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/search',
      tag: TAG,
      summary: 'Pages that fit a query',
      says: 'A query that cannot be read is refused with `BAD_QUERY`; `at` and `length` mark the place in it.',
      query: closed({
        q: AskedQuery,
        sort: Type.Optional(Type.Enum([...SORTS])),
        group: Type.Optional(Type.Enum([...GROUPS], { description: 'One result a URL, or one a capture.' })),
        facets: Type.Optional(Type.Boolean({ description: 'Also how the results divide.' })),
        asOf: Type.Optional(AskedTime),
        after: Type.Optional(After),
        limit: limitOf(500, 20),
      }),
      reply: { status: 200, schema: Results, says: 'A page of results.' },
      problems: SEARCH_PROBLEMS,
      handle: async ({ query, signal }) => {
        const { q, sort, group, facets = false, after, limit = 20 } = query;
        checkQuery(q);
        const asOf = query.asOf === undefined ? undefined : askedTime(query.asOf, 'end');
        const options = { ...(sort && { sort }), ...(group && { group }), facets, after, limit, asOf };
        const page = await search.ask((thread) => thread.search(q, options), signal);
        return {
          items: page.items.map(resultItem),
          ...(page.next !== undefined && { next: page.next }),
          total: page.total,
          isTotalExact: page.isTotalExact,
          ...(page.facets && { facets: page.facets }),
          ...(page.facetsLeftOut && { facetsLeftOut: page.facetsLeftOut }),
          indexing: indexing().state,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/links',
      tag: TAG,
      summary: 'Links to a page, or from it',
      query: closed({
        url: AskedUrl,
        direction: Type.Optional(Type.Enum([...DIRECTIONS], { description: '`in` unless told.' })),
        at: Type.Optional(AskedTime),
        after: Type.Optional(
          Type.String({
            pattern: '^\\d{1,15}$',
            'x-in-words': 'be the `next` of the page before',
            description: '`next` of the page before.',
          }),
        ),
        limit: limitOf(1000, 100),
      }),
      reply: { status: 200, schema: Links, says: 'A page of links; none when the index has none.' },
      problems: SEARCH_PROBLEMS,
      handle: async ({ query, signal }) => {
        const { url, direction = 'in', after, limit = 100 } = query;
        const at = query.at === undefined ? undefined : askedTime(query.at, 'end');
        const list = await search.ask((thread) => thread.links(url, { direction, at, after, limit }), signal);
        return {
          items: list.items.map(linkItem),
          ...(list.next !== undefined && { next: list.next }),
          total: list.total,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/appearances',
      tag: TAG,
      summary: 'When words or a phrase stood on a page',
      query: closed({ url: AskedUrl, q: AskedQuery }),
      reply: { status: 200, schema: Appearances, says: 'The first time, the last, and the times between.' },
      problems: SEARCH_PROBLEMS,
      handle: async ({ query, signal }) => {
        checkQuery(query.q);
        const found = await search.ask((thread) => thread.appearances(urlKey(typedUrl(query.url)), query.q), signal);
        const { captures, found: fitting, first, last, spans } = found;
        return {
          captures,
          found: fitting,
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

/** Refused here rather than on the thread, with the place of what is wrong. */
function checkQuery(text: string): void {
  const parsed = parseQuery(text);
  if (!('problem' in parsed)) return;
  const { at, length, message } = parsed.problem;
  throw new HttpProblem({
    status: 400,
    code: 'BAD_QUERY',
    message: `the query cannot be read: ${message}`,
    advice: 'Mend it at the place that is marked; docs/search.md has the whole language.',
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
