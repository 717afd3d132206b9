/** Reads a JSON Feed (jsonfeed.org) as a page, like the other feeds. */
import type { DocumentTarget } from '../document-target.ts';
import { HtmlReader } from '../html/html-reader.ts';
import { arrayOf, type JsonObject, objectOf, stringOf } from '../json-value.ts';
import { tidyText } from '../link.ts';
export function readJsonFeed(source: string, target: DocumentTarget): void {
  let feed: JsonObject;
  try {
    feed = objectOf(JSON.parse(source));
  } catch {
    return;
  }
  target.meta.declareTitle(stringOf(feed.title));
  target.meta.description ||= tidyText(stringOf(feed.description), 4000);
  target.meta.declareLanguage(stringOf(feed.language));
  target.links?.add(stringOf(feed.home_page_url), 'anchor', false);
  target.links?.add(stringOf(feed.next_url), 'feed', false);
  target.links?.add(stringOf(feed.icon), 'icon', false);
  for (const item of arrayOf(feed.items, 10_000)) readItem(objectOf(item), target);
}

function readItem(item: JsonObject, { meta, text, links }: DocumentTarget): void {
  const title = tidyText(stringOf(item.title), 500);
  links?.add(stringOf(item.url), 'anchor', false, title);
  links?.add(stringOf(item.external_url), 'anchor', false, title);
  links?.add(stringOf(item.image), 'image', false);
  for (const attachment of arrayOf(item.attachments, 100))
    links?.add(stringOf(objectOf(attachment).url), 'media', false);
  meta.declareModified(stringOf(item.date_modified) || stringOf(item.date_published));
  const html = new HtmlReader({ text: text !== undefined, links: links !== undefined }, links, 1);
  html.read(stringOf(item.content_html));
  if (!text) return;
  for (const line of [title, stringOf(item.summary), stringOf(item.content_text), ...html.text.text.split('\n')]) {
    text.break();
    text.add(line);
  }
}
