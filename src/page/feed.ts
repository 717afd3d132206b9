/** RSS, RDF and Atom as a page: the channel's title and description, one block of text an entry, its links. Escaped HTML inside of entries is read as such. */

import { meaningOfRelation } from './element-links.ts';
import { HtmlReader } from './html-reader.ts';
import { type LinkCollector, type LinkKind, tidyText } from './link.ts';
import type { MetaReader } from './meta-reader.ts';
import { parsePageDate } from './page-date.ts';
import type { TextBuilder } from './text-builder.ts';
import { walkXml } from './xml-reader.ts';

export type FeedTarget = {
  readonly links: LinkCollector;
  readonly text: TextBuilder;
  readonly meta: MetaReader;
  readonly wantsText: boolean;
  readonly wantsLinks: boolean;
};

const ENTRY = new Set(['item', 'entry']);
const CONTENT = new Set(['description', 'content:encoded', 'content', 'summary', 'itunes:summary']);

/** Whether XML text begins as a feed does. */
export function isFeed(text: string): boolean {
  return /<(?:rss|feed|rdf:RDF)[\s>]/i.test(text.slice(0, 4000));
}

/** Gives what the links of the feed count from, where it says so itself. */
export function readFeed(source: string, target: FeedTarget): string | undefined {
  let base: string | undefined;
  let title = '';
  let link: string | undefined;
  const addLink = (url: string, kind: LinkKind, isEmbed = false) => {
    if (target.wantsLinks) target.links.add(url.trim(), kind, isEmbed, kind === 'anchor' ? title : '');
  };
  const finishEntry = () => {
    if (link !== undefined) addLink(link, 'anchor');
    title = '';
    link = undefined;
  };
  walkXml(source, {
    open(name, attributes, parents) {
      if (parents.length === 0) base = attributes.get('xml:base');
      const href = attributes.get('href') ?? '';
      if (name === 'feed' || name === 'channel') target.meta.declareLanguage(attributes.get('xml:lang'));
      else if (name === 'link' && href !== '') {
        const meaning = meaningOfRelation(attributes.get('rel') ?? 'alternate', '', attributes.get('type') ?? '');
        const isEntryLink =
          parents.some((parent) => ENTRY.has(parent)) && (attributes.get('rel') ?? 'alternate') === 'alternate';
        if (isEntryLink) link ??= href;
        else if (attributes.get('rel') === 'enclosure') addLink(href, 'media');
        else if (meaning !== undefined) addLink(href, attributes.get('rel') === 'self' ? 'feed' : meaning.kind);
      } else if (name === 'enclosure' || name === 'media:content' || name === 'media:thumbnail') {
        addLink(attributes.get('url') ?? '', name === 'media:thumbnail' ? 'image' : 'media');
      } else if (name === 'item' && attributes.has('rdf:about')) link ??= attributes.get('rdf:about');
    },
    close(name, content, parents) {
      const parent = parents.at(-1) ?? '';
      if (ENTRY.has(name)) finishEntry();
      else if (ENTRY.has(parent)) readEntryPart(name, content);
      else if (parent === 'channel' || parent === 'feed') readChannelPart(name, content);
      else if (name === 'url' && parent === 'image') addLink(content, 'image');
    },
  });
  return base;

  function readEntryPart(name: string, content: string): void {
    if (name === 'title') {
      title = tidyText(content, 500);
      if (target.wantsText) {
        target.text.break();
        target.text.beginHeading();
        target.text.add(title);
        target.text.endHeading();
        target.text.break();
      }
    } else if (name === 'link' && content.trim() !== '') link ??= content.trim();
    else if (name === 'guid' && /^https?:/i.test(content.trim())) link ??= content.trim();
    else if (name === 'comments' || name === 'wfw:commentrss')
      addLink(content, name === 'comments' ? 'anchor' : 'feed');
    else if (CONTENT.has(name)) readContent(content);
    else if (name === 'pubdate' || name === 'updated' || name === 'published' || name === 'dc:date') noteDate(content);
  }

  function readChannelPart(name: string, content: string): void {
    if (name === 'title') target.meta.declareTitle(content);
    else if (name === 'description' || name === 'subtitle') target.meta.description ||= tidyText(content, 4000);
    else if (name === 'language') target.meta.declareLanguage(content);
    else if (name === 'link' && content.trim() !== '') addLink(content, 'anchor');
    else if (name === 'lastbuilddate' || name === 'pubdate' || name === 'updated') noteDate(content);
    else if (name === 'logo' || name === 'icon') addLink(content, 'image');
  }

  function noteDate(content: string): void {
    const time = parsePageDate(content);
    if (time !== undefined && time > (target.meta.modifiedAt ?? Number.NEGATIVE_INFINITY))
      target.meta.modifiedAt = time;
  }

  function readContent(content: string): void {
    const inner = new HtmlReader({ text: target.wantsText, links: target.wantsLinks }, target.links, 1);
    inner.read(content);
    if (!target.wantsText) return;
    target.text.break();
    for (const line of inner.text.text.split('\n')) {
      target.text.add(line);
      target.text.break();
    }
  }
}
