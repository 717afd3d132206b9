/**
 * The attributes of elements that are links, and the kinds of these links. Old and vendor attributes are included,
 * because an archive has pages from thirty years. `data-src` and similar attributes are for scripts that load images
 * when they scroll into view.
 */
import type { LinkCollector, LinkKind, RawLink } from '../link.ts';
import { collectCssLinks } from './css-links.ts';
import { srcsetUrls } from './srcset.ts';

/** The attributes of an element that are in WANTED_ATTRIBUTES. Names are in lower case, and entities are decoded. */
export type Attributes = ReadonlyMap<string, string>;

type Meaning = { readonly kind: LinkKind; readonly isEmbed: boolean };

const embed = (kind: LinkKind): Meaning => ({ kind, isEmbed: true });
const cited = (kind: LinkKind): Meaning => ({ kind, isEmbed: false });

/** Element -> attribute -> the kind of link. `a`, `area`, `link`, `meta`, `base` and `param` have their own rules. */
const MEANINGS: Readonly<Record<string, Readonly<Record<string, Meaning>>>> = {
  applet: { code: embed('object'), archive: embed('object'), object: embed('object') },
  audio: { src: embed('media') },
  bgsound: { src: embed('media') },
  blockquote: { cite: cited('anchor') },
  body: { background: embed('image') },
  button: { formaction: cited('form') },
  del: { cite: cited('anchor') },
  embed: { src: embed('object'), pluginspage: cited('anchor') },
  feimage: { href: embed('image'), 'xlink:href': embed('image') },
  form: { action: cited('form') },
  frame: { src: embed('frame'), longdesc: cited('anchor') },
  html: { manifest: cited('manifest') },
  iframe: { src: embed('frame'), longdesc: cited('anchor') },
  image: { src: embed('image'), href: embed('image'), 'xlink:href': embed('image') },
  img: {
    src: embed('image'),
    lowsrc: embed('image'),
    dynsrc: embed('media'),
    longdesc: cited('anchor'),
  },
  input: { src: embed('image'), formaction: cited('form') },
  ins: { cite: cited('anchor') },
  layer: { src: embed('frame') },
  lineargradient: { 'xlink:href': embed('image') },
  object: { data: embed('object'), classid: embed('object') },
  pattern: { 'xlink:href': embed('image') },
  q: { cite: cited('anchor') },
  script: { src: embed('script'), href: embed('script'), 'xlink:href': embed('script') },
  source: { src: embed('media') },
  table: { background: embed('image') },
  tbody: { background: embed('image') },
  td: { background: embed('image') },
  th: { background: embed('image') },
  tr: { background: embed('image') },
  track: { src: embed('media') },
  use: { href: embed('image'), 'xlink:href': embed('image') },
  video: { src: embed('media'), poster: embed('image') },
};

const MEANINGS_BY_ELEMENT = new Map(
  Object.entries(MEANINGS).map(([element, meanings]) => [element, Object.entries(meanings)] as const),
);

const LAZY_SINGLE = [
  'data-src',
  'data-lazy',
  'data-lazy-src',
  'data-lazyload',
  'data-original',
  'data-original-src',
  'data-orig-src',
  'data-full-src',
  'data-hi-res-src',
  'data-hires',
  'data-large-file',
  'data-medium-file',
  'data-orig-file',
  'data-img-src',
  'data-image',
  'data-image-src',
  'data-thumb',
  'data-echo',
  'data-poster',
  'data-bg',
  'data-bg-src',
  'data-background',
  'data-background-image',
  'data-fallback-src',
  'data-retina',
  'data-href',
] as const;
const LAZY_SETS = ['data-srcset', 'data-lazy-srcset', 'data-original-set', 'data-bgset', 'data-bg-multi'] as const;

export const WANTED_ATTRIBUTES: ReadonlySet<string> = new Set<string>([
  ...Object.values(MEANINGS).flatMap((meanings) => Object.keys(meanings)),
  ...LAZY_SINGLE,
  ...LAZY_SETS,
  ...['alt', 'as', 'charset', 'codebase', 'content', 'datetime', 'href', 'http-equiv', 'hreflang', 'imagesrcset'],
  ...['itemprop', 'lang', 'name', 'property', 'pubdate', 'rel', 'src', 'srcdoc', 'srcset', 'style', 'title', 'type'],
  ...['value', 'valuetype', 'xlink:href', 'xml:lang', 'aria-hidden', 'role'],
]);

/** Adds the links of an element. Returns the link of an anchor, so that the text of the anchor can be added to it. */
export function collectElementLinks(
  element: string,
  attributes: Attributes,
  links: LinkCollector,
  isInMedia: boolean,
): RawLink | undefined {
  const style = attributes.get('style');
  if (style?.includes('(')) collectCssLinks(style, links);
  if (element === 'a' || element === 'area') {
    collectLazy(element, attributes, links, isInMedia);
    return collectAnchor(attributes, links);
  }
  if (element === 'link') collectLinkElement(attributes, links);
  else if (element === 'param') collectParam(attributes, links);
  const text = attributes.get('alt') ?? '';
  const codebase = element === 'applet' || element === 'object' ? (attributes.get('codebase') ?? '') : '';
  for (const [attribute, meaning] of MEANINGS_BY_ELEMENT.get(element) ?? []) {
    const value = attributes.get(attribute);
    if (value === undefined) continue;
    if (element === 'source' && attribute === 'src' && !isInMedia) links.add(value, 'image', true);
    else links.add(withBase(value, codebase), meaning.kind, meaning.isEmbed, text);
  }
  const srcset = attributes.get('srcset');
  if (srcset !== undefined) for (const url of srcsetUrls(srcset)) links.add(url, 'image', true, text);
  if (!MEANINGS_BY_ELEMENT.has(element) && element.includes('-')) collectCustom(attributes, links);
  collectLazy(element, attributes, links, isInMedia);
  return undefined;
}

/** The `codebase` of an applet or object is the base of its other attributes. */
function withBase(value: string, codebase: string): string {
  if (codebase === '' || /^[a-z][a-z0-9+.-]*:|^\//i.test(value)) return value;
  return codebase.endsWith('/') ? codebase + value : `${codebase}/${value}`;
}

function collectAnchor(attributes: Attributes, links: LinkCollector): RawLink | undefined {
  const href = attributes.get('href') ?? attributes.get('xlink:href');
  if (href === undefined) return undefined;
  return links.add(href, 'anchor', false, attributes.get('alt') ?? '', hasWord(attributes.get('rel'), 'nofollow'));
}

function hasWord(list: string | undefined, word: string): boolean {
  return (
    list
      ?.toLowerCase()
      .split(/[\s,]+/)
      .includes(word) ?? false
  );
}

const KIND_OF_AS: Readonly<Record<string, LinkKind>> = {
  style: 'style',
  script: 'script',
  worker: 'script',
  font: 'font',
  image: 'image',
  audio: 'media',
  video: 'media',
  track: 'media',
  embed: 'object',
  object: 'object',
  document: 'anchor',
  fetch: 'data',
};

/**
 * The kind of the link in a `link` element or HTTP Link field, from its relation; undefined if the target is never
 * fetched.
 */
export function meaningOfRelation(rel: string, as: string, type: string): Meaning | undefined {
  const words = rel.toLowerCase().split(/\s+/);
  const has = (word: string) => words.includes(word);
  if (has('stylesheet')) return embed('style');
  if (
    words.some(
      (word) => word === 'icon' || word.startsWith('apple-touch') || word === 'mask-icon' || word === 'fluid-icon',
    )
  )
    return embed('icon');
  if (has('modulepreload')) return embed('script');
  if (has('preload') || has('prefetch') || has('prerender')) {
    const kind = KIND_OF_AS[as.toLowerCase()] ?? (has('preload') ? 'data' : 'anchor');
    return { kind, isEmbed: has('preload') };
  }
  if (has('dns-prefetch') || has('preconnect') || has('profile') || has('pingback') || has('edituri')) return undefined;
  if (has('canonical')) return cited('canonical');
  if (has('manifest')) return embed('manifest');
  if (has('sitemap')) return cited('sitemap');
  if (has('alternate') || has('feed')) return cited(/(rss|atom|rdf|feed)/i.test(type) ? 'feed' : 'alternate');
  if (has('amphtml') || has('search') || has('shortlink')) return cited('alternate');
  if (has('image_src')) return cited('image');
  return words.some((word) => NAVIGATION.has(word)) ? cited('anchor') : cited('alternate');
}

const NAVIGATION = new Set(
  'next prev previous first last start begin end index contents toc up home help author license copyright glossary chapter section subsection appendix bookmark archives me top'.split(
    ' ',
  ),
);

function collectLinkElement(attributes: Attributes, links: LinkCollector): void {
  const meaning = meaningOfRelation(
    attributes.get('rel') ?? '',
    attributes.get('as') ?? '',
    attributes.get('type') ?? '',
  );
  if (meaning === undefined) return;
  const isNofollow = hasWord(attributes.get('rel'), 'nofollow');
  const href = attributes.get('href');
  if (href !== undefined) links.add(href, meaning.kind, meaning.isEmbed, attributes.get('title') ?? '', isNofollow);
  for (const url of srcsetUrls(attributes.get('imagesrcset') ?? '')) links.add(url, 'image', true);
}

const MOVIE_PARAMETERS = new Set(['movie', 'src', 'filename', 'url', 'data', 'code']);

function collectParam(attributes: Attributes, links: LinkCollector): void {
  const isUrl =
    MOVIE_PARAMETERS.has((attributes.get('name') ?? '').toLowerCase()) || attributes.get('valuetype') === 'ref';
  const value = attributes.get('value');
  if (isUrl && value !== undefined) links.add(value, 'object', true);
}

/** Custom elements of frameworks (`amp-img`, `lite-youtube`). Their `src` is probably an image. */
function collectCustom(attributes: Attributes, links: LinkCollector): void {
  const src = attributes.get('src');
  if (src !== undefined && looksLikeUrl(src)) links.add(src, 'image', true, attributes.get('alt') ?? '');
}

const LAZY_KIND: Readonly<Record<string, LinkKind>> = {
  iframe: 'frame',
  script: 'script',
  video: 'media',
  audio: 'media',
  link: 'style',
  embed: 'object',
};

function collectLazy(element: string, attributes: Attributes, links: LinkCollector, isInMedia: boolean): void {
  const kind = LAZY_KIND[element] ?? (element === 'source' && isInMedia ? 'media' : 'image');
  for (const [name, value] of attributes) {
    if (!name.startsWith('data-')) continue;
    if ((LAZY_SETS as readonly string[]).includes(name)) {
      for (const url of srcsetUrls(value)) if (looksLikeUrl(url)) links.add(url, 'image', true);
    } else if (/^\s*url\(/i.test(value)) {
      collectCssLinks(value, links);
    } else if (looksLikeUrl(value)) {
      if (name === 'data-href') links.add(value, 'anchor', false, '', hasWord(attributes.get('rel'), 'nofollow'));
      else links.add(value, name === 'data-poster' ? 'image' : kind, true);
    }
  }
}

/** True if the value of a custom attribute is probably a URL: a path or file name, without spaces or code. */
function looksLikeUrl(value: string): boolean {
  return value.length < 4096 && /^[^\s{}<>"'`|\\^]+$/.test(value) && /[/.]/.test(value) && !/^[\d.,]+$/.test(value);
}
