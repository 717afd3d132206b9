/** Finds the links in HTTP header fields: Link (RFC 8288), Refresh, Location and Content-Location. */
import { type Link, LinkCollector } from '../link.ts';
import { meaningOfRelation } from './element-links.ts';
import { refreshTarget } from './meta-reader.ts';

const VALUE_LENGTH_MAX = 64 * 1024;

export function linksOfHeaders(fields: Iterable<readonly [string, string]>, url: string): Link[] {
  const links = new LinkCollector();
  for (const [name, value] of fields) {
    if (value.length > VALUE_LENGTH_MAX) continue;
    const lower = name.toLowerCase();
    if (lower === 'link') collectLinkField(value, links);
    else if (lower === 'location') links.add(value.trim(), 'refresh', false);
    else if (lower === 'content-location') links.add(value.trim(), 'canonical', false);
    else if (lower === 'refresh') {
      const target = refreshTarget(value);
      if (target !== undefined) links.add(target, 'refresh', false);
    }
  }
  return links.resolve(url);
}

const REDIRECTING = new Set([301, 302, 303, 307, 308]);

/** The link from a redirect to its target; undefined if the response is not a redirect. */
export function redirectOf(status: number, location: string | undefined, url: string): Link | undefined {
  if (!REDIRECTING.has(status) || location === undefined) return undefined;
  const links = new LinkCollector();
  links.add(location.trim(), 'redirect', false);
  return links.resolve(url)[0];
}

const PARAMETER = /;\s*([!#$&+\-.^_`|~\w]+)\*?\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?\s*/y;

function collectLinkField(value: string, links: LinkCollector): void {
  let at = 0;
  for (;;) {
    const start = value.indexOf('<', at);
    const end = start < 0 ? -1 : value.indexOf('>', start);
    if (end < 0) return;
    const target = value.slice(start + 1, end).trim();
    const parameters = new Map<string, string>();
    at = end + 1;
    for (;;) {
      PARAMETER.lastIndex = at + /^\s*/.exec(value.slice(at, at + 200))![0].length;
      const match = PARAMETER.exec(value);
      if (match === null) break;
      at = PARAMETER.lastIndex;
      const name = match[1]!.toLowerCase();
      if (!parameters.has(name)) parameters.set(name, match[2] ?? match[3] ?? '');
    }
    const rel = parameters.get('rel') ?? '';
    const meaning = meaningOfRelation(rel, parameters.get('as') ?? '', parameters.get('type') ?? '');
    // Relations of other standards (`original`, `timegate`) and of APIs are links too.
    if (meaning !== undefined) links.add(target, meaning.kind, meaning.isEmbed, parameters.get('title') ?? '');
  }
}
