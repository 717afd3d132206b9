/**
 * Finds links and dates in JSON-LD of schema.org. It uses a list of values to visit and no recursion, so that nesting
 * cannot overflow the stack.
 */
import type { LinkCollector, LinkKind } from '../link.ts';
import { parsePageDate } from '../page-date.ts';
import type { MetaReader } from './meta-reader.ts';

const LENGTH_MAX = 2 * 1024 * 1024;
const VALUES_MAX = 50_000;

const KINDS: Readonly<Record<string, LinkKind>> = {
  contenturl: 'media',
  embedurl: 'data',
  image: 'image',
  logo: 'image',
  thumbnailurl: 'image',
};

export function collectJsonLd(text: string, links: LinkCollector | undefined, meta: MetaReader): void {
  if (text.length > LENGTH_MAX) return;
  const root = parseLenient(text);
  if (root === undefined) return;
  const pending: { key: string; value: unknown }[] = [{ key: '', value: root }];
  for (let count = 0; pending.length > 0 && count < VALUES_MAX; count++) {
    const { key, value } = pending.pop()!;
    if (typeof value === 'string') readString(key, value, links, meta);
    else if (Array.isArray(value)) for (const item of value) pending.push({ key, value: item });
    else if (value !== null && typeof value === 'object') {
      for (const [name, inner] of Object.entries(value)) {
        // The `url` of an image object is the image itself.
        const isPicture = name === 'url' && Object.hasOwn(KINDS, key);
        if (name !== '@context' && name !== '@type')
          pending.push({ key: isPicture ? key : name.toLowerCase(), value: inner });
      }
    }
  }
}

/** Parses JSON that is wrapped in comments or CDATA, or has line ends in its strings, as on many pages. */
function parseLenient(text: string): unknown {
  const bare = text
    .replace(/^\s*(?:<!--|\/\*\s*<!\[CDATA\[\s*\*\/|\/\/\s*<!\[CDATA\[|<!\[CDATA\[)/, '')
    .replace(/(?:-->|\/\*\s*\]\]>\s*\*\/|\/\/\s*\]\]>|\]\]>)\s*;?\s*$/, '');
  for (const attempt of [bare, bare.replace(/[\u0000-\u001f]+/g, ' ')]) {
    try {
      return JSON.parse(attempt);
    } catch {
      // Try the second form, then give up.
    }
  }
  return undefined;
}

function readString(key: string, value: string, links: LinkCollector | undefined, meta: MetaReader): void {
  if (key === 'datepublished') meta.publishedAt ??= parsePageDate(value);
  else if (key === 'datemodified') meta.modifiedAt ??= parsePageDate(value);
  if (links === undefined || value.length > 2048) return;
  const isUrl =
    /^(?:https?:)?\/\/[^\s<>"]+$/i.test(value) ||
    (/^\/[^\s<>"/][^\s<>"]*$/.test(value) && /(url|^image|^logo|^@id|sameas|link)/.test(key));
  if (isUrl && !/^https?:\/\/schema\.org\/?/i.test(value)) links.add(value, KINDS[key] ?? 'data', false);
}
