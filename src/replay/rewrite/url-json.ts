/**
 * Rewrites the links in two kinds of JSON that browsers follow: import maps and web app manifests. Text that is not
 * such JSON stays as it is.
 */
import type { LinkRewriter } from './link-rewriter.ts';

type JsonObject = { [name: string]: unknown };

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const URL_SPECIFIER = /^(?:\.{0,2}\/|[a-z][a-z0-9+.-]*:)/i;

/**
 * Rewrites an import map. Names that are links, and all URLs, become links of the archive, as in the modules that use
 * them.
 */
export function rewriteImportMap(text: string, links: LinkRewriter): string {
  const map = parsed(text);
  if (!map) return text;
  const link = (value: string) => links.rewrite(value, 'esm_') ?? value;
  // Browsers take a value that is not a string for null; such a value may be nested without end.
  const urls = (value: unknown): unknown => {
    if (!isObject(value)) return null;
    const entries = Object.entries(value).map(([name, url]) => [
      URL_SPECIFIER.test(name) ? link(name) : name,
      typeof url === 'string' ? link(url) : null,
    ]);
    return Object.fromEntries(entries);
  };
  const scopes = isObject(map.scopes)
    ? Object.fromEntries(Object.entries(map.scopes).map(([scope, value]) => [link(scope), urls(value)]))
    : undefined;
  return JSON.stringify({
    ...(map.imports !== undefined && { imports: urls(map.imports) }),
    ...(scopes && { scopes }),
  }).replaceAll('<', '\\u003c');
}

const MANIFEST_LINKS: ReadonlySet<string> = new Set(['src', 'start_url', 'scope', 'url', 'action', 'id']);
/** More levels than manifests have, and fewer than would overflow the stack. */
const MANIFEST_DEPTH_MAX = 100;

export function rewriteManifest(text: string, links: LinkRewriter): string {
  const manifest = parsed(text);
  if (!manifest) return text;
  let isTooDeep = false;
  const walk = (value: unknown, name: string, depth: number): unknown => {
    if (typeof value === 'string') {
      const modifier = name === 'src' ? 'im_' : 'mp_';
      return MANIFEST_LINKS.has(name) ? (links.rewrite(value, modifier) ?? value) : value;
    }
    if (value === null || typeof value !== 'object') return value;
    if (depth > MANIFEST_DEPTH_MAX) {
      isTooDeep = true;
      return null;
    }
    if (Array.isArray(value)) return value.map((item) => walk(item, '', depth + 1));
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([key, item]) => [key, walk(item, key, depth + 1)]),
    );
  };
  const rewritten = walk(manifest, '', 0);
  return isTooDeep ? text : JSON.stringify(rewritten);
}
