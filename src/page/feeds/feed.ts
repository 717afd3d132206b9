/**
 * Reads RSS, RDF and Atom feeds as pages: title and description of the channel, text and links of each entry. Escaped
 * HTML in entries is read as HTML.
 */
import type { DocumentTarget } from '../document-target.ts';
import { meaningOfRelation } from '../html/element-links.ts';
import { HtmlReader } from '../html/html-reader.ts';
import { type LinkKind, tidyText } from '../link.ts';
import { walkXml, type XmlHandler } from '../office/xml-reader.ts';

const ENTRY = new Set(['item', 'entry']);
const CONTENT = new Set(['description', 'content:encoded', 'content', 'summary', 'itunes:summary']);

/** True if XML text begins like a feed. */
export function isFeed(text: string): boolean {
  return /<(?:rss|feed|rdf:RDF)[\s>]/i.test(text.slice(0, 4000));
}

/** Reads a feed. Returns the base for its links, if the feed declares one. */
export function readFeed(source: string, target: DocumentTarget): string | undefined {
  const reader = new FeedReader(target);
  walkXml(source, reader);
  return reader.base;
}

class FeedReader implements XmlHandler {
  base: string | undefined;
  readonly #target: DocumentTarget;
  /** The title and link of the current entry. */
  #title = '';
  #link: string | undefined;

  constructor(target: DocumentTarget) {
    this.#target = target;
  }

  open(name: string, attributes: ReadonlyMap<string, string>, parents: readonly string[]): void {
    if (parents.length === 0) this.base = attributes.get('xml:base');
    switch (name) {
      case 'feed':
      case 'channel':
        this.#target.meta.declareLanguage(attributes.get('xml:lang'));
        break;
      case 'link':
        this.#readLink(attributes, parents);
        break;
      case 'enclosure':
      case 'media:content':
        this.#addLink(attributes.get('url') ?? '', 'media');
        break;
      case 'media:thumbnail':
        this.#addLink(attributes.get('url') ?? '', 'image');
        break;
      case 'item':
        this.#link ??= attributes.get('rdf:about');
        break;
    }
  }

  close(name: string, content: string, parents: readonly string[]): void {
    const parent = parents.at(-1) ?? '';
    if (ENTRY.has(name)) this.#finishEntry();
    else if (ENTRY.has(parent)) this.#readEntryPart(name, content);
    else if (parent === 'channel' || parent === 'feed') this.#readChannelPart(name, content);
    else if (name === 'url' && parent === 'image') this.#addLink(content, 'image');
  }

  /** Reads an Atom link, which has attributes. */
  #readLink(attributes: ReadonlyMap<string, string>, parents: readonly string[]): void {
    const href = attributes.get('href') ?? '';
    if (href === '') return;
    const relation = attributes.get('rel') ?? 'alternate';
    if (relation === 'alternate' && parents.some((parent) => ENTRY.has(parent))) {
      this.#link ??= href;
      return;
    }
    const meaning = meaningOfRelation(relation, '', attributes.get('type') ?? '');
    if (relation === 'enclosure') this.#addLink(href, 'media');
    else if (meaning !== undefined) this.#addLink(href, relation === 'self' ? 'feed' : meaning.kind);
  }

  #readEntryPart(name: string, content: string): void {
    const trimmed = content.trim();
    if (name === 'title') this.#readTitle(content);
    else if (name === 'link' && trimmed !== '') this.#link ??= trimmed;
    else if (name === 'guid' && /^https?:/i.test(trimmed)) this.#link ??= trimmed;
    else if (name === 'comments') this.#addLink(content, 'anchor');
    else if (name === 'wfw:commentrss') this.#addLink(content, 'feed');
    else if (CONTENT.has(name)) this.#readContent(content);
    else if (name === 'pubdate' || name === 'updated' || name === 'published' || name === 'dc:date')
      this.#target.meta.declareModified(content);
  }

  #readChannelPart(name: string, content: string): void {
    const { meta } = this.#target;
    if (name === 'title') meta.declareTitle(content);
    else if (name === 'description' || name === 'subtitle') meta.description ||= tidyText(content, 4000);
    else if (name === 'language') meta.declareLanguage(content);
    else if (name === 'link' && content.trim() !== '') this.#addLink(content, 'anchor');
    else if (name === 'lastbuilddate' || name === 'pubdate' || name === 'updated') meta.declareModified(content);
    else if (name === 'logo' || name === 'icon') this.#addLink(content, 'image');
  }

  #readTitle(content: string): void {
    const { text } = this.#target;
    this.#title = tidyText(content, 500);
    text?.addHeading(this.#title);
    text?.break();
  }

  #readContent(content: string): void {
    const { text, links } = this.#target;
    const inner = new HtmlReader({ text: text !== undefined, links: links !== undefined }, links, 1);
    inner.read(content);
    if (!text) return;
    text.break();
    for (const line of inner.text.text.split('\n')) {
      text.add(line);
      text.break();
    }
  }

  #finishEntry(): void {
    if (this.#link !== undefined) this.#addLink(this.#link, 'anchor');
    this.#title = '';
    this.#link = undefined;
  }

  #addLink(url: string, kind: LinkKind): void {
    this.#target.links?.add(url.trim(), kind, false, kind === 'anchor' ? this.#title : '');
  }
}
