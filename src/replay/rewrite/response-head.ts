/**
 * The fields of a replayed answer. A field of the original acts again only if it is known to be harmless and correct.
 * All others are kept under `X-Archive-Orig-`. So nothing of the original head is lost, and none of it controls the
 * browser: no cookies, no policies, no redirections to elsewhere.
 */
import type { HttpHead } from '../../warc/index.ts';
import { linkTarget } from '../memento.ts';
import { rewriteRefresh } from './html-element.ts';
import type { LinkRewriter } from './link-rewriter.ts';
import type { Modifier } from './modifier.ts';

/** The prefix of the names of original fields that are kept without effect. */
export const ORIGINAL_PREFIX = 'X-Archive-Orig-';
/** Clients refuse heads of more than about 16 KiB; archived heads may have a megabyte. */
const ORIGINAL_CHARACTERS_MAX = 6 * 1024;
const VALUE_CHARACTERS_MAX = 2 * 1024;

/** Fields that act as they are. */
const PASSED: ReadonlySet<string> = new Set(['content-language', 'content-disposition']);
/** Fields that act after rewriting, or are written anew. */
const REWRITTEN: ReadonlySet<string> = new Set(['location', 'refresh', 'content-type']);

export type FieldList = [string, string][];

/** The fields of the original in a replayed answer. */
export function originalFields(http: HttpHead | undefined, links: LinkRewriter, modifier: Modifier): FieldList {
  const fields: FieldList = [];
  let kept = 0;
  for (const { name, value } of http?.fields ?? []) {
    const lower = name.toLowerCase();
    if (!isToken(name)) continue;
    const text = safeValue(value);
    if (PASSED.has(lower)) fields.push([name, text]);
    else if (lower === 'refresh') fields.push(['Refresh', safeValue(rewriteRefresh(value, links))]);
    if (PASSED.has(lower) || REWRITTEN.has(lower)) continue;
    kept += ORIGINAL_PREFIX.length + name.length + text.length + 4;
    if (kept <= ORIGINAL_CHARACTERS_MAX) fields.push([ORIGINAL_PREFIX + name, text]);
  }
  const location = http?.get('location');
  const target = location === undefined ? undefined : links.rewrite(location.trim(), modifier);
  if (target !== undefined) fields.push(['Location', linkTarget(target)]);
  return fields;
}

/** Links of the original that load style sheets or preload. The others are dropped. */
export function originalLinks(http: HttpHead | undefined, links: LinkRewriter): string[] {
  const rewritten: string[] = [];
  let length = 0;
  for (const { name, value } of http?.fields ?? []) {
    if (name.toLowerCase() !== 'link') continue;
    for (const match of value.matchAll(/<([^<>]{1,2000})>((?:\s*;\s*[\w*-]+(?:\s*=\s*(?:"[^"]*"|[^\s",;]*))?)*)/g)) {
      const modifier = preloadModifier(match[2]!);
      const url = modifier && links.rewrite(match[1]!, modifier);
      if (!url) continue;
      const link = safeValue(
        `<${linkTarget(url)}>${match[2]!.replace(/;\s*integrity\s*=\s*(?:"[^"]*"|[^\s;]*)/i, '')}`,
      );
      length += link.length;
      if (length <= VALUE_CHARACTERS_MAX) rewritten.push(link);
    }
  }
  return rewritten;
}

function preloadModifier(parameters: string): Modifier | undefined {
  const relation = /;\s*rel\s*=\s*"?([^";]*)/i.exec(parameters)?.[1]?.trim().toLowerCase() ?? '';
  if (relation === 'stylesheet') return 'cs_';
  if (relation === 'modulepreload') return 'esm_';
  if (relation !== 'preload') return undefined;
  const destination = /;\s*as\s*=\s*"?([\w-]+)/i.exec(parameters)?.[1]?.toLowerCase();
  if (destination === 'style') return 'cs_';
  if (destination === 'script') return 'js_';
  return destination === 'image' ? 'im_' : 'oe_';
}

function isToken(name: string): boolean {
  return name.length <= 128 && /^[!#$%&'*+.^`|~\w-]+$/.test(name);
}

/** Printable ASCII without space at its ends. Nearly all values are, and can be sent as they are. */
const PLAIN_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** A value that can be sent: Latin-1 without controls, and of limited length. */
export function safeValue(value: string): string {
  if (value.length <= VALUE_CHARACTERS_MAX && PLAIN_VALUE.test(value)) return value;
  const text = value.length > VALUE_CHARACTERS_MAX ? value.slice(0, VALUE_CHARACTERS_MAX) : value;
  return text
    .toWellFormed()
    .replace(/[^\x00-\xff]/gu, (character) => encodeURIComponent(character))
    .replace(/[\x00-\x08\x0a-\x1f\x7f]/g, ' ')
    .trim();
}
