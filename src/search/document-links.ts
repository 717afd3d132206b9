/**
 * The stored form of the links of a document. Links are stored as written, so that they can be resolved again for the
 * same content at another URL.
 *
 * ```
 *   zstd over lines:   <kind> <flags> <as written> TAB <text> LF       kind: a letter; flags: 1 nofollow, 2 embed
 * ```
 * The text of a link never has line ends. Tabs and line ends in a URL are removed, as browsers do.
 */
import { type Link, LinkBase, type LinkKind } from '../page/index.ts';
import { packText, unpackText } from './packed-text.ts';

const TEXT_LENGTH_MAX = 200;

/** The kinds in the order of their letters, from `a` on. */
const KINDS: readonly LinkKind[] = [
  'anchor',
  'frame',
  'image',
  'style',
  'script',
  'media',
  'object',
  'font',
  'form',
  'feed',
  'alternate',
  'canonical',
  'sitemap',
  'manifest',
  'icon',
  'refresh',
  'redirect',
  'data',
];
const FIRST_LETTER = 0x61;
const FIRST_DIGIT = 0x30;
const NUMBERS = new Map(KINDS.map((kind, number) => [kind, number]));

/** Kinds of links by which one page cites another. */
const CITING: ReadonlySet<LinkKind> = new Set<LinkKind>(['anchor', 'frame', 'refresh', 'redirect', 'canonical']);

const LINE_BREAK = /[\t\n\r]/;
const LINE_BREAKS = /[\t\n\r]/g;

export function packLinks(links: readonly Link[]): Uint8Array | null {
  if (links.length === 0) return null;
  let lines = '';
  /** For each URL, the kinds of its links that are already stored, as bits. */
  const seen = new Map<string, number>();
  for (const { href, url, kind, text, isNofollow, isEmbed } of links) {
    const written = href ?? url;
    const number = NUMBERS.get(kind)!;
    const kinds = seen.get(written) ?? 0;
    if ((kinds & (1 << number)) !== 0) continue;
    seen.set(written, kinds | (1 << number));
    const value = LINE_BREAK.test(written) ? written.replace(LINE_BREAKS, '') : written;
    const flags = (isNofollow ? 1 : 0) | (isEmbed ? 2 : 0);
    const code = KIND_CODES[4 * number + flags]!;
    lines += `${code}${value}\t${text.length > TEXT_LENGTH_MAX ? text.slice(0, TEXT_LENGTH_MAX) : text}\n`;
  }
  return packText(lines);
}

/** The letter and digit of each kind with each set of flags. */
const KIND_CODES = KINDS.flatMap((_, number) =>
  [0, 1, 2, 3].map((flags) => String.fromCharCode(FIRST_LETTER + number, FIRST_DIGIT + flags)),
);

/** The links of a document at a URL. */
export function unpackLinks(bytes: Uint8Array | null, base: string | null, url: string): Link[] {
  if (bytes === null) return [];
  const own = new LinkBase(url);
  const from = base === null ? undefined : own.resolve(base);
  const place = from === undefined ? own : new LinkBase(from);
  const links: Link[] = [];
  const lines = unpackText(bytes);
  for (let at = 0; at < lines.length; ) {
    const tab = lines.indexOf('\t', at);
    const end = lines.indexOf('\n', tab);
    const target = place.resolve(lines.slice(at + 2, tab));
    if (target !== undefined) {
      const flags = lines.charCodeAt(at + 1) - FIRST_DIGIT;
      links.push({
        url: target,
        kind: KINDS[lines.charCodeAt(at) - FIRST_LETTER]!,
        text: lines.slice(tab + 1, end),
        isNofollow: (flags & 1) !== 0,
        isEmbed: (flags & 2) !== 0,
      });
    }
    at = end + 1;
  }
  return links;
}

export function isCiting(link: Pick<Link, 'kind'>): boolean {
  return CITING.has(link.kind);
}
