/**
 * Addresses of the screens: parses a path, and builds the path to every screen. Does not use the browser.
 *
 * Under /web/ the rest of the address, with its query, is the address of the archived page: `/web/*` +
 * `/http://example.org/a?b=c`. A `*` at the end asks for all addresses with this prefix. A `*` that belongs to the
 * archived address is written as %2A. Before the first `*` there may be a time, `/web/2020*` + `/http://example.org/`,
 * or two times with a dash; the list then opens there. An address that contains `/../` is escaped as a whole, because
 * browsers would resolve it against our own path.
 */
export type Route =
  | { readonly kind: 'home' }
  | { readonly kind: 'captures'; readonly url: string; readonly time?: string }
  | { readonly kind: 'prefix'; readonly prefix: string }
  | { readonly kind: 'frame'; readonly time: string; readonly modifier: '' | 'if_' | 'id_'; readonly url: string }
  | { readonly kind: 'compare'; readonly a: string; readonly b: string }
  | { readonly kind: 'collections' }
  | { readonly kind: 'collection'; readonly name: string }
  /** `start`: the kind of job whose form is open. */
  | { readonly kind: 'jobs'; readonly start?: string }
  | { readonly kind: 'job'; readonly id: string }
  | { readonly kind: 'delete'; readonly selection: Readonly<Record<string, string>> }
  | { readonly kind: 'search'; readonly input: SearchInput }
  | { readonly kind: 'links'; readonly url: string; readonly direction: 'in' | 'out' }
  | { readonly kind: 'nodes' }
  | { readonly kind: 'takedowns' }
  | { readonly kind: 'audit' }
  | { readonly kind: 'help' }
  | { readonly kind: 'missing'; readonly path: string };

const SORTS = ['relevance', 'date', 'oldest', 'inlinks', 'rank'] as const;
export type Sort = (typeof SORTS)[number];

/** The facets that filter the results, besides the query itself. */
export const FACETS = ['site', 'type', 'language', 'year', 'collection'] as const;
export type FacetName = (typeof FACETS)[number];

export type SearchInput = {
  readonly query: string;
  readonly sort: Sort;
  readonly filters: Readonly<Partial<Record<FacetName, string>>>;
};

export type Place = { readonly pathname: string; readonly search: string; readonly hash: string };

/** Up to 17 digits, which is a time with milliseconds. Screens use whole seconds. */
const FRAME = /^\/web\/(\d{1,14})\d{0,3}([a-z]{2}_)?\/(.+)$/s;

const LISTED = /^\/web\/(\d{1,17})?(?:-(\d{1,17})?)?\*\//;

export function parseRoute({ pathname, search, hash }: Place): Route {
  if (pathname.startsWith('/web/')) return parseArchived(pathname + search, hash, pathname);
  const [, first = '', second = '', ...rest] = pathname.replace(/\/$/, '').split('/');
  const path = rest.length === 0 ? `${first}/${second === '' ? '' : '*'}` : '';
  const query = new URLSearchParams(search);
  switch (path) {
    case '/':
      return { kind: 'home' };
    case 'collections/':
      return { kind: 'collections' };
    case 'collections/*':
      return { kind: 'collection', name: decoded(second) };
    case 'compare/':
      return { kind: 'compare', a: query.get('a') ?? '', b: query.get('b') ?? '' };
    case 'delete/':
      return { kind: 'delete', selection: Object.fromEntries(query) };
    case 'help/':
      return { kind: 'help' };
    case 'links/':
      return { kind: 'links', url: query.get('url') ?? '', direction: query.get('direction') === 'out' ? 'out' : 'in' };
    case 'search/':
      return { kind: 'search', input: parseSearch(query) };
    case 'nodes/':
      return { kind: 'nodes' };
    case 'audit/':
      return { kind: 'audit' };
    case 'takedowns/':
      return { kind: 'takedowns' };
    case 'jobs/':
      return { kind: 'jobs', ...(query.has('start') && { start: query.get('start')! }) };
    case 'jobs/*':
      return { kind: 'job', id: decoded(second) };
    default:
      return { kind: 'missing', path: pathname };
  }
}

function parseSearch(query: URLSearchParams): SearchInput {
  const filters: Partial<Record<FacetName, string>> = {};
  for (const name of FACETS) {
    const value = query.get(name);
    if (value) filters[name] = value;
  }
  return {
    query: query.get('q') ?? '',
    sort: SORTS.find((sort) => sort === query.get('sort')) ?? 'relevance',
    filters,
  };
}

function parseArchived(path: string, hash: string, pathname: string): Route {
  const listed = LISTED.exec(path);
  if (listed) {
    const url = path.slice(listed[0].length);
    if (url === '') return { kind: 'home' };
    if (url.endsWith('*')) return { kind: 'prefix', prefix: withScheme(unfolded(url.slice(0, -1))) };
    const from = listed[1] ?? listed[2];
    return {
      kind: 'captures',
      url: withScheme(unfolded(url.replace(/%2A$/i, '*'))),
      ...(from !== undefined && { time: from }),
    };
  }
  const [, time, modifier = '', url] = FRAME.exec(path) ?? [];
  if (time === undefined || url === undefined) return { kind: 'missing', path: pathname };
  return {
    kind: 'frame',
    time,
    modifier: modifier === 'if_' || modifier === 'id_' ? modifier : '',
    url: withScheme(unfolded(url)) + hash,
  };
}

/** Adds the scheme to an address as a person typed it, and the slash after `http:/` that some proxies remove. */
export function withScheme(url: string): string {
  const collapsed = /^(https?|ftp):\/(?!\/)/i.exec(url);
  if (collapsed) return `${collapsed[1]}://${url.slice(collapsed[0].length)}`;
  return /^[a-z][a-z0-9+.-]*:(?!\d)/i.test(url) ? url : `http://${url}`;
}

export const pathTo = {
  home: () => '/',
  captures: (url: string) => `/web/*/${inPath(url).replace(/\*$/, '%2A')}`,
  prefix: (prefix: string) => `/web/*/${inPath(prefix)}*`,
  frame: (time: string, url: string, modifier: '' | 'if_' | 'id_' = '') => {
    const [address, fragment] = splitFragment(url);
    return `/web/${time}${modifier}/${inPath(address)}${fragment}`;
  },
  compare: (a: string, b: string) => `/compare?${new URLSearchParams({ a, b })}`,
  collections: () => '/collections',
  collection: (name: string) => `/collections/${encodeURIComponent(name)}`,
  jobs: (start?: string) => (start === undefined ? '/jobs' : `/jobs?${new URLSearchParams({ start })}`),
  job: (id: string) => `/jobs/${encodeURIComponent(id)}`,
  delete: (selection: Readonly<Record<string, string>> = {}) => {
    const query = new URLSearchParams(selection).toString();
    return query === '' ? '/delete' : `/delete?${query}`;
  },
  search: ({ query, sort = 'relevance', filters = {} }: { readonly query: string } & Partial<SearchInput>) => {
    const parts = { q: query, ...(sort === 'relevance' ? {} : { sort }), ...filters };
    return `/search?${new URLSearchParams(parts)}`;
  },
  links: (url: string, direction: 'in' | 'out' = 'in') =>
    `/links?${new URLSearchParams({ url, ...(direction === 'out' && { direction }) })}`,
  nodes: () => '/nodes',
  takedowns: () => '/takedowns',
  audit: () => '/audit',
  help: () => '/help',
} as const;

/** The path for a text typed into the search box: captures of a page, addresses under a prefix, or a word search. */
export function pathToTyped(typed: string): string | undefined {
  const text = typed.trim();
  if (text === '' || text === '*') return undefined;
  if (!looksLikeAddress(text)) return pathTo.search({ query: text });
  return text.endsWith('*') ? pathTo.prefix(withScheme(text.slice(0, -1))) : pathTo.captures(withScheme(text));
}

const SCHEME = /^(?:https?:\/|[a-z][a-z0-9+.-]*:\/\/|(?:urn|dns|info|mailto|data|metadata|javascript):)/i;
const FIELD = /^-?[a-z-]+(?::[^/]|[<>=])/i;
/** A name with a dot in it, an IP address, or localhost; then an optional port and an optional path. */
const HOST =
  /^(?:(?:\*\.)?[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.(?:\p{L}{2,}|xn--[a-z0-9-]+|\d{1,3})\.?|localhost|\[[0-9a-f:.]+\])(?::\d+)?(?:[/?#*].*)?$/iu;

/** An address has no spaces, and begins with a scheme or a host. Every other text is words to search for. */
export function looksLikeAddress(text: string): boolean {
  if (/[\s"]/.test(text)) return false;
  if (SCHEME.test(text)) return true;
  return HOST.test(text) || (!FIELD.test(text) && /^[\p{L}\p{N}_-]+(?::\d+)?\//u.test(text));
}

/** True if the text may be the beginning of an address. A colon after a word begins a query field, or a port. */
export function mayBeginAddress(text: string): boolean {
  return text.length >= 2 && !/[\s"]|:(?!\d)/.test(text.replace(/^https?:/i, ''));
}

/** The address of an archived page on the replay origin. */
export function replayAddress(origin: string, timestamp: string, url: string): string {
  const [address, fragment] = splitFragment(url);
  return `${origin}/web/${timestamp}mp_/${DOT_SEGMENT.test(address) ? inPath(address) : address}${fragment}`;
}

/** Completes the time of an address to 14 digits, as the server does: the beginning of the year, month or day. */
export function fullTimestamp(time: string): string {
  return time + '00000101000000'.slice(time.length);
}

/** A `.` or `..` segment in the path of an http address. */
const DOT_SEGMENT = /^https?:[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i;

/** Decodes an address that was escaped as a whole. */
function unfolded(url: string): string {
  return /^https?%3a/i.test(url) ? decoded(url) : url;
}

function inPath(url: string): string {
  const [address] = splitFragment(url);
  if (DOT_SEGMENT.test(address)) return encodeURIComponent(address.toWellFormed());
  return address.replace(/[\s"<>\\^`{|}]/g, (character) => encodeURIComponent(character));
}

function splitFragment(url: string): [address: string, fragment: string] {
  const at = url.indexOf('#');
  return at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at)];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
