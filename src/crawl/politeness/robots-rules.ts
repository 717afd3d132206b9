/**
 * The rules of a robots.txt (RFC 9309) for one crawler.
 *
 * All groups that name the product token of the crawler are merged. If no group names it, the groups for `*` count. If
 * there are none either, everything is allowed. Of the rules that match a path, the one with the longest pattern
 * decides. If an allowing and a forbidding pattern have the same length, the path is allowed. Patterns and paths are
 * compared as octets with normalized escapes. Lines of other kinds do not end a group, and do not join two groups.
 * `Crawl-delay` and `Sitemap` are read too.
 *
 * Real files have these faults, which are understood: byte order marks that are whole, cut or in UTF-16; CR and LF in
 * any order; a missing colon, or a space before the colon; misspelled `Disallow`; text after the product token.
 */
import { type EpochMs, fromLatin1, utf8 } from '../../base/index.ts';
import { ROBOTS_FRESH_MS } from '../frontier/crawl-state.ts';

/** How many bytes of a file are read. The standard asks for at least 500 KiB. */
export const ROBOTS_BYTES_MAX = 512 * 1024;

/**
 * Whether a file fetched at this time is still fresh. A file with a time in the far future is not: the clock was wrong.
 */
export function isFresh(fetched: EpochMs, now: EpochMs): boolean {
  return Math.abs(now - fetched) <= ROBOTS_FRESH_MS;
}
const LINE_LENGTH_MAX = 16_384;

type Rule = { readonly isAllow: boolean; readonly pattern: string };

class RuleGroup {
  readonly rules: Rule[] = [];
  crawlDelaySeconds: number | undefined;
}

export class RobotsRules {
  /** Rules that take precedence come first. */
  readonly #rules: readonly Rule[];
  readonly crawlDelayMs: number | undefined;
  /** The URLs of sitemaps as written: absolute, or relative to the file. */
  readonly sitemaps: readonly string[];

  private constructor(group: RuleGroup | undefined, sitemaps: readonly string[]) {
    const byWeight = (a: Rule, b: Rule) => b.pattern.length - a.pattern.length || Number(b.isAllow) - Number(a.isAllow);
    this.#rules = group?.rules.toSorted(byWeight) ?? [];
    const seconds = group?.crawlDelaySeconds;
    this.crawlDelayMs = seconds === undefined ? undefined : seconds * 1000;
    this.sitemaps = sitemaps;
  }

  /** Parses the file for a crawler with this product token (`pinakes`, without version). */
  static parse(file: Uint8Array, productToken: string): RobotsRules {
    const reader = new GroupReader(productToken.toLowerCase());
    for (const line of latin1Text(file.subarray(0, ROBOTS_BYTES_MAX)).split(/\r\n?|\n/)) reader.take(line);
    return new RobotsRules(reader.own ?? reader.everyone, reader.sitemaps);
  }

  /** Rules that forbid everything, for a site whose rules could not be fetched. */
  static forbidding(): RobotsRules {
    return RobotsRules.parse(utf8('User-agent: *\nDisallow: /'), '');
  }

  static allowing(): RobotsRules {
    return new RobotsRules(undefined, []);
  }

  /** Whether the URL may be fetched. The file itself always may. */
  isAllowed(url: string): boolean {
    if (this.#rules.length === 0) return true;
    const path = normalPath(url);
    if (path === '/robots.txt') return true;
    const search = new PathSearch(path);
    const isMany = this.#rules.length > FEW_RULES;
    for (const { isAllow, pattern } of this.#rules) {
      if (isMany && !search.mayMatch(pattern)) continue;
      if (matches(pattern, search)) return isAllow;
      if (search.isTooLong) return false;
    }
    return true;
  }
}

/**
 * Reads line by line. Collects the rules of the two groups that matter: for this crawler (`own`) and for all
 * (`everyone`).
 */
class GroupReader {
  own: RuleGroup | undefined;
  everyone: RuleGroup | undefined;
  readonly sitemaps: string[] = [];
  readonly #token: string;
  /** The groups that the current lines belong to. */
  #current = new Set<RuleGroup>();
  #isNaming = false;

  constructor(token: string) {
    this.#token = token;
  }

  take(line: string): void {
    const match = LINE.exec(line.slice(0, LINE_LENGTH_MAX));
    if (!match) return;
    const value = match[3]!.trim();
    const hasColon = match[2] === ':';
    const kind = KINDS[match[1]!.toLowerCase()];
    if (kind === 'agent') this.#name(value);
    else if (kind === 'allow' || kind === 'disallow') this.#rule(kind === 'allow', value);
    else if (kind === 'delay' && hasColon) this.#delay(value);
    else if (kind === 'sitemap' && hasColon && value !== '') this.sitemaps.push(value);
  }

  #name(value: string): void {
    if (!this.#isNaming) this.#current = new Set();
    this.#isNaming = true;
    if (/^\*(\s|$)/.test(value)) this.#current.add((this.everyone ??= new RuleGroup()));
    const token = /^[a-z0-9_-]*/i.exec(value)![0].toLowerCase();
    if (token !== '' && token === this.#token) this.#current.add((this.own ??= new RuleGroup()));
  }

  #rule(isAllow: boolean, value: string): void {
    this.#isNaming = false;
    if (value === '') return;
    // A pattern that begins with neither `/` nor `*` starts at the root.
    const rooted = value.startsWith('/') || value.startsWith('*') ? value : `/${value}`;
    for (const group of this.#current) group.rules.push({ isAllow, pattern: normalOctets(rooted) });
  }

  #delay(value: string): void {
    const seconds = Number(/^(?:\d+(?:\.\d+)?|\.\d+)/.exec(value)?.[0]);
    if (Number.isNaN(seconds)) return;
    for (const group of this.#current) group.crawlDelaySeconds = Math.max(group.crawlDelaySeconds ?? 0, seconds);
  }
}

/** Matches the name, the colon or the white space in its place, and the value without its comment. */
const LINE = /^\s*([a-z][a-z -]*?)[ \t]*([: \t])[ \t]*([^#]*)/i;

type LineKind = 'agent' | 'allow' | 'disallow' | 'delay' | 'sitemap';

const KINDS: Readonly<Record<string, LineKind | undefined>> = {
  'user-agent': 'agent',
  useragent: 'agent',
  'user agent': 'agent',
  allow: 'allow',
  disallow: 'disallow',
  dissallow: 'disallow',
  dissalow: 'disallow',
  disalow: 'disallow',
  diasllow: 'disallow',
  disallaw: 'disallow',
  desallow: 'disallow',
  'crawl-delay': 'delay',
  crawldelay: 'delay',
  sitemap: 'sitemap',
  'site-map': 'sitemap',
};

/** The file as text with one character for each octet. */
function latin1Text(file: Uint8Array): string {
  if (file[0] === 0xff && file[1] === 0xfe) return fromLatin1(utf8(new TextDecoder('utf-16le').decode(file)));
  if (file[0] === 0xfe && file[1] === 0xff) return fromLatin1(utf8(new TextDecoder('utf-16be').decode(file)));
  // A byte order mark, or the rest of one, is removed at the start of the file. Elsewhere it makes its line invalid.
  return fromLatin1(file).replace(/^\u00ef\u00bb?\u00bf?/, '');
}

function normalPath(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return '/';
  return normalOctets(fromLatin1(utf8(parsed.pathname + parsed.search)));
}

/** Writes escapes in upper case, unreserved characters as themselves, and octets beyond ASCII as escapes. */
function normalOctets(text: string): string {
  return text.replace(/%[0-9a-f]{2}|[^\x21-\x7e]/gi, (found) => {
    const octet = found.length === 1 ? found.charCodeAt(0) : Number.parseInt(found.slice(1), 16);
    const character = String.fromCharCode(octet);
    if (found.length === 3 && /[a-z0-9._~-]/i.test(character)) return character;
    return `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

/**
 * `*` matches any octets, and `$` at the end of a pattern matches the end of the path. Without `$`, a pattern matches
 * every path that begins with it. Each piece between stars takes linear time.
 */
function matches(pattern: string, search: PathSearch): boolean {
  const { path } = search;
  const isWhole = pattern.endsWith('$');
  const pieces = (isWhole ? pattern.slice(0, -1) : pattern).split('*');
  let at = pieces[0]!.length;
  if (!path.startsWith(pieces[0]!)) return false;
  for (let index = 1; index < pieces.length; index++) {
    const piece = pieces[index]!;
    if (isWhole && index === pieces.length - 1) return path.length - piece.length >= at && path.endsWith(piece);
    const found = search.find(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return !isWhole || at === path.length;
}

/** If there are more rules than this, `mayMatch` excludes most of them before the search. */
const FEW_RULES = 100;
/**
 * How many octets may be searched for one URL. Honest rules need fewer. A URL that needs more is forbidden, because
 * thousands of patterns that nearly match would block the crawl of all other hosts.
 */
const PASSED_MAX = 250_000;
/** The number of slots, a prime. The hash of three octets is the number of a slot. */
const SLOTS = 65_521;
const STAR = 0x2a;

/** Searches one path for the pieces of many patterns. */
class PathSearch {
  readonly path: string;
  #passed = 0;
  /** For each slot, whether the path contains three octets in a row that have this slot. */
  #triples: Uint8Array | undefined;

  constructor(path: string) {
    this.path = path;
  }

  get isTooLong(): boolean {
    return this.#passed > PASSED_MAX;
  }

  /** The first place of the piece at or after `from`; negative if there is none. */
  find(piece: string, from: number): number {
    const found = this.path.indexOf(piece, from);
    this.#passed += (found < 0 ? this.path.length : found) - from;
    return found;
  }

  /** False if the pattern has three octets in a row that the path does not contain. */
  mayMatch(pattern: string): boolean {
    this.#triples ??= triplesOf(this.path);
    // The last octet may be a `$`, so it is skipped.
    for (let at = 0, inRow = 0; at < pattern.length - 1; at++) {
      inRow = pattern.charCodeAt(at) === STAR ? 0 : inRow + 1;
      if (inRow >= 3 && this.#triples[tripleSlot(pattern, at)] === 0) return false;
    }
    return true;
  }
}

function triplesOf(path: string): Uint8Array {
  const triples = new Uint8Array(SLOTS);
  for (let at = 2; at < path.length; at++) triples[tripleSlot(path, at)] = 1;
  return triples;
}

/** The slot of the three octets that end at `at`. */
function tripleSlot(text: string, at: number): number {
  return ((text.charCodeAt(at - 2) << 14) | (text.charCodeAt(at - 1) << 7) | text.charCodeAt(at)) % SLOTS;
}
