/**
 * Turns the links of one archived document into links of the archive, `img/a.png` into
 * `/web/20240301100000im_/https://example.org/img/a.png`.
 *
 * Links are resolved here and not by the browser: `../` above the root of a site would remove parts of the archive's
 * own path, and the modifier must say what the link is for. Links that load nothing (fragments, `data:`, `mailto:` and
 * the like) stay as they are. Every result begins with a slash, so that it has the same origin under any base. Absolute
 * links that a reader can follow begin with that origin instead.
 *
 * The output is UTF-8, whatever the charset of the page was. Browsers encode a query in the charset of the page, so
 * queries are escaped here in the original charset of the page.
 */
import { type EpochMs, formatTimestamp } from '../../base/index.ts';
import { CharsetEncoder } from '../../page/index.ts';
import { REPLAY_ROOT } from '../replay-path.ts';
import type { Modifier } from './modifier.ts';

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const ARCHIVED_SCHEME = /^(?:https?|ftp):/i;
const WHOLE_URL = /^(?:https?|ftp):[/\\]{2}[^/\\]/i;

/**
 * A base URL: the whole, up to the path, and up to the last slash of the path. The last two are empty without a host.
 */
type Base = { readonly url: string; readonly origin: string; readonly directory: string };

function baseOf(url: string): Base {
  const parsed = URL.parse(url);
  if (!parsed) return { url, origin: '', directory: '' };
  const origin = `${parsed.protocol}//${parsed.host}`;
  const folder = parsed.pathname.slice(0, parsed.pathname.lastIndexOf('/') + 1);
  return { url: parsed.href, origin, directory: parsed.host === '' ? '' : origin + folder };
}

export class LinkRewriter {
  readonly time: EpochMs;
  readonly charset: string;
  readonly #stamp: string;
  readonly #replayOrigin: string;
  readonly #prefixes = new Map<Modifier, string>();
  #url: string;
  #base: Base | undefined;

  /** Links of the document at `url`, to captures near `time`. */
  constructor(url: string, time: EpochMs, charset = 'utf-8', replayOrigin = '') {
    this.#replayOrigin = replayOrigin;
    this.#stamp = formatTimestamp(time);
    this.time = time;
    this.charset = charset;
    this.#url = url;
  }

  /** The URL that relative links are relative to. */
  get base(): string {
    return this.#parsedBase().url;
  }

  /** The time in rewritten links, in digits. */
  get stamp(): string {
    return this.#stamp;
  }

  setBase(url: string): void {
    this.#url = url;
    this.#base = undefined;
  }

  /** Parsed at the first link, because most answers have no links. */
  #parsedBase(): Base {
    this.#base ??= baseOf(this.#url);
    return this.#base;
  }

  prefix(modifier: Modifier): string {
    let prefix = this.#prefixes.get(modifier);
    if (prefix === undefined) {
      prefix = `${REPLAY_ROOT}${this.#stamp}${modifier}/`;
      this.#prefixes.set(modifier, prefix);
    }
    return prefix;
  }

  /** The absolute URL of a link; undefined for links that no archive has: fragments, `data:` and broken links. */
  resolve(link: string): string | undefined {
    const url = cleaned(link);
    if (url === '' || url.startsWith('#')) return undefined;
    if (ARCHIVED_SCHEME.test(url)) return WHOLE_URL.test(url) ? url : URL.parse(url, this.base)?.href;
    if (SCHEME.test(url)) return undefined;
    const resolved = URL.parse(url, this.base)?.href;
    return resolved !== undefined && ARCHIVED_SCHEME.test(resolved) ? resolved : undefined;
  }

  /** The link of the archive; undefined if the link stays as it is. */
  rewrite(link: string, modifier: Modifier): string | undefined {
    const insertion = this.insertion(link, modifier);
    if (insertion !== undefined) return insertion + link;
    const url = this.resolve(this.charset === 'utf-8' ? link : CharsetEncoder.of(this.charset).escapeQuery(link));
    return url === undefined ? undefined : this.prefix(modifier) + url;
  }

  /**
   * The text to write before a link of the archive that a reader can follow. Style sheets find links to other sites by
   * how they begin, `a[href^="http"]`, so absolute links stay absolute.
   */
  before(link: string): string {
    return WHOLE_URL.test(link) ? this.#replayOrigin : '';
  }

  /**
   * The text to write before a plain link to make it a link of the archive; undefined if the link needs `rewrite`,
   * which is slower.
   */
  insertion(link: string, modifier: Modifier): string | undefined {
    const first = link.charCodeAt(0);
    if (first === 0x68 || first === 0x2f || first === 0x48) {
      if (!isPlain(link, this.charset)) return undefined;
      if (link.startsWith('http://') || link.startsWith('https://')) {
        return link.length > 8 ? this.prefix(modifier) : undefined;
      }
      const { origin } = this.#parsedBase();
      if (first !== 0x2f || origin === '') return this.#relativeInsertion(link, modifier);
      const second = link.charCodeAt(1);
      if (second === 0x2f) {
        return link.length > 2 && link.charCodeAt(2) !== 0x2f
          ? this.prefix(modifier) + origin.slice(0, origin.indexOf(':') + 1)
          : undefined;
      }
      return DOTTED.test(link) ? undefined : this.prefix(modifier) + origin;
    }
    return isPlain(link, this.charset) ? this.#relativeInsertion(link, modifier) : undefined;
  }

  #relativeInsertion(link: string, modifier: Modifier): string | undefined {
    const first = link.charCodeAt(0);
    const isName = (first >= 0x61 && first <= 0x7a) || (first >= 0x41 && first <= 0x5a) || isDigit(first);
    const { directory } = this.#parsedBase();
    if (!isName || directory === '' || link.includes(':') || DOTTED.test(link)) return undefined;
    return this.prefix(modifier) + directory;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Dot segments, plain or escaped, need a URL parser. */
const DOTTED = /(?:^|\/)(?:\.|%2e)/i;

/** Whether a URL parser would return a link unchanged: printable ASCII without backslashes. */
function isPlain(link: string, charset: string): boolean {
  for (let at = 0; at < link.length; at++) {
    const code = link.charCodeAt(at);
    if (code <= 0x20 || code === 0x5c || (code >= 0x7f && charset !== 'utf-8')) return false;
  }
  return true;
}

/** The first step of URL parsers: drops controls and spaces around a link, and tabs and line ends within it. */
function cleaned(link: string): string {
  let from = 0;
  let to = link.length;
  while (from < to && link.charCodeAt(from) <= 0x20) from++;
  while (to > from && link.charCodeAt(to - 1) <= 0x20) to--;
  const bare = link.slice(from, to);
  return /[\t\n\r]/.test(bare) ? bare.replace(/[\t\n\r]/g, '') : bare;
}
