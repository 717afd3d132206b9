/** Rewrites the links of playlists for streamed media: HLS (`.m3u8`, RFC 8216) and DASH (`.mpd`, ISO 23009-1). */
import type { LinkRewriter } from './link-rewriter.ts';

/** Lines that are not tags are links; tags have links in `URI="..."`. */
export function rewriteHls(text: string, links: LinkRewriter): string {
  return text.replace(/[^\r\n]+/g, (line) => {
    if (!line.startsWith('#')) return line.trim() === '' ? line : (links.rewrite(line, 'oe_') ?? line);
    return line.replace(/\bURI="([^"]*)"/g, (whole, url: string) => {
      const link = links.rewrite(url, 'oe_');
      return link === undefined ? whole : `URI="${link}"`;
    });
  });
}

/** Rewrites only absolute links: relative links are templates, which the player resolves against a rewritten base. */
export function rewriteDash(text: string, links: LinkRewriter): string {
  const pattern =
    /(<(?:\w+:)?(?:BaseURL|Location)\b[^>]{0,2000}>\s*|\b(?:media|initialization|sourceURL|index|href)=["'])(https?:[^"'<\s]+)/g;
  return text.replace(pattern, (_, before: string, url: string) => before + (links.rewrite(url, 'oe_') ?? url));
}
