/** Reads the facts of a document: title, description, language, dates, robots directives, and links in `meta`. */
import type { EpochMs } from '../../base/index.ts';
import { type LinkCollector, type LinkKind, tidyText } from '../link.ts';
import { parsePageDate } from '../page-date.ts';
import { appliesToUs, robotsDirectives } from '../robots-directives.ts';
import type { Attributes } from './element-links.ts';

const TITLE_LENGTH_MAX = 1000;
const DESCRIPTION_LENGTH_MAX = 4000;

const DATE_PUBLISHED = new Set([
  'article:published_time',
  'datepublished',
  'dc.date',
  'dc.date.created',
  'dc.date.issued',
  'dcterms.created',
  'dcterms.date',
  'dcterms.issued',
  'date',
  'pubdate',
  'publishdate',
  'citation_publication_date',
  'citation_date',
  'parsely-pub-date',
  'sailthru.date',
]);
const DATE_MODIFIED = new Set([
  'article:modified_time',
  'datemodified',
  'dc.date.modified',
  'dcterms.modified',
  'last-modified',
  'lastmod',
  'og:updated_time',
  'revised',
]);
const META_LINKS: Readonly<Record<string, LinkKind>> = {
  'og:image': 'image',
  'og:image:url': 'image',
  'og:image:secure_url': 'image',
  'og:video': 'media',
  'og:video:url': 'media',
  'og:video:secure_url': 'media',
  'og:audio': 'media',
  'og:url': 'canonical',
  'twitter:image': 'image',
  'twitter:image:src': 'image',
  'msapplication-tileimage': 'icon',
  'msapplication-config': 'icon',
  thumbnail: 'image',
  image: 'image',
  thumbnailurl: 'image',
  contenturl: 'media',
};

export class MetaReader {
  title = '';
  description = '';
  language = '';
  publishedAt: EpochMs | undefined;
  modifiedAt: EpochMs | undefined;
  readonly robots = { nofollow: false, noindex: false };
  #socialTitle = '';
  #socialDescription = '';
  #timeElement: EpochMs | undefined;

  declareTitle(text: string): void {
    if (this.title === '') this.title = tidyText(text, TITLE_LENGTH_MAX);
  }

  declareLanguage(tag: string | undefined): void {
    const primary = tag === undefined ? '' : (/^\s*([a-z]{2,3})(?:[-_,\s]|$)/i.exec(tag)?.[1] ?? '');
    if (this.language === '') this.language = primary.toLowerCase();
  }

  /** Keeps the latest of several dates. */
  declareModified(date: string): void {
    const time = parsePageDate(date);
    if (time !== undefined && time > (this.modifiedAt ?? Number.NEGATIVE_INFINITY)) this.modifiedAt = time;
  }

  readTime(attributes: Attributes): void {
    const time = parsePageDate(attributes.get('datetime') ?? attributes.get('content') ?? '');
    if (time === undefined) return;
    const itemprop = attributes.get('itemprop')?.toLowerCase();
    if (itemprop === 'datepublished' || attributes.has('pubdate')) this.publishedAt ??= time;
    else if (itemprop === 'datemodified') this.modifiedAt ??= time;
    else this.#timeElement ??= time;
  }

  readMeta(attributes: Attributes, links: LinkCollector): void {
    const content = attributes.get('content');
    if (content === undefined) return;
    const equivalent = attributes.get('http-equiv')?.trim().toLowerCase();
    if (equivalent === 'refresh') {
      const target = refreshTarget(content);
      if (target !== undefined) links.add(target, 'refresh', false);
    } else if (equivalent === 'content-language') this.declareLanguage(content);
    const property = attributes.get('property') ?? attributes.get('name') ?? attributes.get('itemprop') ?? equivalent;
    if (property !== undefined) this.#readProperty(property.trim().toLowerCase(), content, links);
  }

  #readProperty(name: string, content: string, links: LinkCollector): void {
    if (appliesToUs(name)) this.#readRobots(content);
    else if (name === 'description' || name === 'dc.description')
      this.description ||= tidyText(content, DESCRIPTION_LENGTH_MAX);
    else if (name === 'og:description' || name === 'twitter:description') {
      this.#socialDescription ||= tidyText(content, DESCRIPTION_LENGTH_MAX);
    } else if (name === 'og:title' || name === 'twitter:title' || name === 'dc.title') {
      this.#socialTitle ||= tidyText(content, TITLE_LENGTH_MAX);
    } else if (name === 'language' || name === 'dc.language' || name === 'og:locale') this.declareLanguage(content);
    else if (DATE_PUBLISHED.has(name)) this.publishedAt ??= parsePageDate(content);
    else if (DATE_MODIFIED.has(name)) this.modifiedAt ??= parsePageDate(content);
    else if (Object.hasOwn(META_LINKS, name)) links.add(content.trim(), META_LINKS[name]!, false);
  }

  #readRobots(content: string): void {
    const { nofollow, noindex } = robotsDirectives(content);
    this.robots.nofollow ||= nofollow;
    this.robots.noindex ||= noindex;
  }

  /** Fills in missing facts from elements for social networks, and from `time` elements. */
  finish(): void {
    this.title ||= this.#socialTitle;
    this.description ||= this.#socialDescription;
    this.publishedAt ??= this.#timeElement;
  }
}

/**
 * The target of a Refresh value such as `5; url=next.html`, as browsers read it; undefined if the value has no target
 * and reloads the page.
 */
export function refreshTarget(value: string): string | undefined {
  const rest = /^\s*[\d.]+\s*[;,\s]\s*(.*)$/s.exec(value.slice(0, 10_000))?.[1];
  if (rest === undefined) return undefined;
  const target = /^url\s*=\s*(.*)$/is.exec(rest)?.[1] ?? rest;
  const quote = target[0];
  if (quote === '"' || quote === "'") {
    const end = target.indexOf(quote, 1);
    return target.slice(1, end < 0 ? target.length : end) || undefined;
  }
  return target.trim() || undefined;
}
