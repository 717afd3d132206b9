/** The links of a document as they are kept: as written, so that the same content at another URL gives other links without being read again. zstd over JSON. */
import { type Link, type LinkKind, resolveUrl } from '../page/index.ts';
import { packText, unpackText } from './packed-text.ts';

/** More links than this are not kept of one document. */
const LINKS_MAX = 20_000;
const TEXT_LENGTH_MAX = 200;

/** [as written, kind, text, flags]; flag 1 nofollow, 2 embed. */
type Row = [string, LinkKind, string, number];

/** Kinds of links by which one page cites another. */
const CITING: ReadonlySet<LinkKind> = new Set<LinkKind>(['anchor', 'frame', 'refresh', 'redirect', 'canonical']);

export function packLinks(links: readonly Link[]): Uint8Array | null {
  if (links.length === 0) return null;
  const rows: Row[] = [];
  const seen = new Set<string>();
  for (const link of links) {
    const href = link.href ?? link.url;
    const id = `${link.kind} ${href}`;
    if (seen.has(id) || rows.length >= LINKS_MAX) continue;
    seen.add(id);
    rows.push([
      href,
      link.kind,
      link.text.slice(0, TEXT_LENGTH_MAX),
      (link.isNofollow ? 1 : 0) | (link.isEmbed ? 2 : 0),
    ]);
  }
  return packText(JSON.stringify(rows));
}

/** The links of a document that lies at a URL. */
export function unpackLinks(bytes: Uint8Array | null, base: string | null, url: string): Link[] {
  if (bytes === null) return [];
  const from = (base === null ? undefined : resolveUrl(base, url)) ?? url;
  const links: Link[] = [];
  for (const [href, kind, text, flags] of JSON.parse(unpackText(bytes)) as Row[]) {
    const target = resolveUrl(href, from);
    if (target === undefined) continue;
    links.push({ url: target, kind, text, isNofollow: (flags & 1) !== 0, isEmbed: (flags & 2) !== 0 });
  }
  return links;
}

export function isCiting(link: Pick<Link, 'kind'>): boolean {
  return CITING.has(link.kind);
}
