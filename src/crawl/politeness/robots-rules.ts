/**
 * The rules of a robots.txt (RFC 9309) for one crawler.
 *
 * All groups that name the crawler's product token are one; without any, the groups for `*` hold; without those,
 * nothing is forbidden. Of the rules that match a path the longest pattern decides, and of two of one length the one
 * that allows. Patterns and paths are compared as octets with normal escapes. Lines that are no rules neither end a
 * group nor join two. `Crawl-delay` and `Sitemap` are read along.
 *
 * Seen in the wild and understood: byte order marks whole, cut short and in UTF-16, CR and LF in any order, a missing
 * colon, a space before it, misspelled `Disallow`, more behind the product token.
 */
import { type EpochMs, fromLatin1, utf8 } from '../../base/index.ts';

/** What is read of a file; the standard asks for at least 500 KiB. */
export const ROBOTS_BYTES_MAX = 512 * 1024;
/** How long a file holds (RFC 9309, 2.4). */
export const ROBOTS_FRESH_MS = 24 * 3600_000;

/**
 * Whether a file that was fetched then holds now. One of a day to come does not: the clock was wrong, and it may be as
 * old as it likes.
 */
export function isFresh(fetched: EpochMs, now: EpochMs): boolean {
  return Math.abs(now - fetched) <= ROBOTS_FRESH_MS;
}
const LINE_LENGTH_MAX = 16_384;

type Rule = { readonly isAllow: boolean; readonly pattern: string };

class Group {
  readonly rules: Rule[] = [];
  crawlDelaySeconds: number | undefined;
}

export class RobotsRules {
  /** Those that decide before others come first. */
  readonly #rules: readonly Rule[];
  readonly crawlDelayMs: number | undefined;
  /** As written: absolute, or relative to the file. */
  readonly sitemaps: readonly string[];

  private constructor(group: Group | undefined, sitemaps: readonly string[]) {
    const byWeight = (a: Rule, b: Rule) => b.pattern.length - a.pattern.length || Number(b.isAllow) - Number(a.isAllow);
    this.#rules = group?.rules.toSorted(byWeight) ?? [];
    const seconds = group?.crawlDelaySeconds;
    this.crawlDelayMs = seconds === undefined ? undefined : seconds * 1000;
    this.sitemaps = sitemaps;
  }

  /** Reads the file for a crawler of this product token (`pinakes`, without version). */
  static parse(file: Uint8Array, productToken: string): RobotsRules {
    const reader = new GroupReader(productToken.toLowerCase());
    for (const line of textOf(file.subarray(0, ROBOTS_BYTES_MAX)).split(/\r\n?|\n/)) reader.take(line);
    return new RobotsRules(reader.own ?? reader.everyone, reader.sitemaps);
  }

  /** Rules that forbid everything: for a site whose rules cannot be had. */
  static forbidding(): RobotsRules {
    return RobotsRules.parse(utf8('User-agent: *\nDisallow: /'), '');
  }

  static allowing(): RobotsRules {
    return new RobotsRules(undefined, []);
  }

  /** Whether the URL may be fetched. The file itself always may. */
  isAllowed(url: string): boolean {
    if (this.#rules.length === 0) return true;
    const path = pathOf(url);
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

/** Takes line after line and sorts rules into the two groups that can count. */
class GroupReader {
  own: Group | undefined;
  everyone: Group | undefined;
  readonly sitemaps: string[] = [];
  readonly #token: string;
  /** The groups that the lines at hand belong to. */
  #current = new Set<Group>();
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
    if (/^\*(\s|$)/.test(value)) this.#current.add((this.everyone ??= new Group()));
    const token = /^[a-z0-9_-]*/i.exec(value)![0].toLowerCase();
    if (token !== '' && token === this.#token) this.#current.add((this.own ??= new Group()));
  }

  #rule(isAllow: boolean, value: string): void {
    this.#isNaming = false;
    if (value === '') return;
    // A pattern that begins with neither is meant from the root.
    const rooted = value.startsWith('/') || value.startsWith('*') ? value : `/${value}`;
    for (const group of this.#current) group.rules.push({ isAllow, pattern: normalOctets(rooted) });
  }

  #delay(value: string): void {
    const seconds = Number(/^(?:\d+(?:\.\d+)?|\.\d+)/.exec(value)?.[0]);
    if (Number.isNaN(seconds)) return;
    for (const group of this.#current) group.crawlDelaySeconds = Math.max(group.crawlDelaySeconds ?? 0, seconds);
  }
}

/** Name, the colon or the white space that stands for it, and the value without its comment. */
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

/** One character an octet. */
function textOf(file: Uint8Array): string {
  if (file[0] === 0xff && file[1] === 0xfe) return fromLatin1(utf8(new TextDecoder('utf-16le').decode(file)));
  if (file[0] === 0xfe && file[1] === 0xff) return fromLatin1(utf8(new TextDecoder('utf-16be').decode(file)));
  // A byte order mark, or what is left of one, counts only at the very start; further on it spoils its line.
  return fromLatin1(file).replace(/^\u00ef\u00bb?\u00bf?/, '');
}

function pathOf(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return '/';
  return normalOctets(fromLatin1(utf8(parsed.pathname + parsed.search)));
}

/** Escapes in upper case, unreserved characters as themselves, octets beyond ASCII as escapes. */
function normalOctets(text: string): string {
  return text.replace(/%[0-9a-f]{2}|[^\x21-\x7e]/gi, (found) => {
    const octet = found.length === 1 ? found.charCodeAt(0) : Number.parseInt(found.slice(1), 16);
    const character = String.fromCharCode(octet);
    if (found.length === 3 && /[a-z0-9._~-]/i.test(character)) return character;
    return `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

/**
 * `*` stands for any octets, `$` at the end for the end; else a pattern matches what begins with it. Takes linear time
 * for each piece.
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

/** Of more, most are ruled out before they are searched for. */
const FEW_RULES = 100;
/**
 * So many octets may be passed for one URL, more than rules that are meant take. Beyond, it is forbidden: thousands of
 * patterns that nearly match would hold up the crawl of all other hosts.
 */
const PASSED_MAX = 250_000;
/** A prime: three octets fall on one of so many places. */
const SLOTS = 65_521;
const STAR = 0x2a;

/** The search for the pieces of many patterns in one path. */
class PathSearch {
  readonly path: string;
  #passed = 0;
  /** By their place, whether the path may have three octets in a row. */
  #triples: Uint8Array | undefined;

  constructor(path: string) {
    this.path = path;
  }

  get isTooLong(): boolean {
    return this.#passed > PASSED_MAX;
  }

  /** Where the piece begins, from there on; negative when there is none. */
  find(piece: string, from: number): number {
    const found = this.path.indexOf(piece, from);
    this.#passed += (found < 0 ? this.path.length : found) - from;
    return found;
  }

  /** False only for a pattern that has octets in a row which the path has not. */
  mayMatch(pattern: string): boolean {
    this.#triples ??= triplesOf(this.path);
    // What the last octet may mean is not looked at.
    for (let at = 0, inRow = 0; at < pattern.length - 1; at++) {
      inRow = pattern.charCodeAt(at) === STAR ? 0 : inRow + 1;
      if (inRow >= 3 && this.#triples[slotOf(pattern, at)] === 0) return false;
    }
    return true;
  }
}

function triplesOf(path: string): Uint8Array {
  const triples = new Uint8Array(SLOTS);
  for (let at = 2; at < path.length; at++) triples[slotOf(path, at)] = 1;
  return triples;
}

/** The place of the three octets that end there. */
function slotOf(text: string, at: number): number {
  return ((text.charCodeAt(at - 2) << 14) | (text.charCodeAt(at - 1) << 7) | text.charCodeAt(at)) % SLOTS;
}
