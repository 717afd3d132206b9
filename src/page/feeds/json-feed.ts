/** Reads a JSON Feed (jsonfeed.org) as a page, like the other feeds. */
import { HtmlReader } from '../html/html-reader.ts';
import { arrayOf, type JsonObject, objectOf, stringOf } from '../json-value.ts';
import { tidyText } from '../link.ts';
import { parsePageDate } from '../page-date.ts';
import type { FeedTarget } from './feed.ts';

export function collectJsonFeed(source: string, target: FeedTarget): void {
  let feed: JsonObject;
  try {
    feed = objectOf(JSON.parse(source));
  } catch {
    return;
  }
  target.meta.declareTitle(stringOf(feed.title));
  target.meta.description ||= tidyText(stringOf(feed.description), 4000);
  target.meta.declareLanguage(stringOf(feed.language));
  if (target.wantsLinks) {
    target.links.add(stringOf(feed.home_page_url), 'anchor', false);
    target.links.add(stringOf(feed.next_url), 'feed', false);
    target.links.add(stringOf(feed.icon), 'icon', false);
  }
  for (const item of arrayOf(feed.items, 10_000)) readItem(objectOf(item), target);
}

function readItem(item: JsonObject, target: FeedTarget): void {
  const title = tidyText(stringOf(item.title), 500);
  if (target.wantsLinks) {
    target.links.add(stringOf(item.url), 'anchor', false, title);
    target.links.add(stringOf(item.external_url), 'anchor', false, title);
    target.links.add(stringOf(item.image), 'image', false);
    for (const attachment of arrayOf(item.attachments, 100)) {
      target.links.add(stringOf(objectOf(attachment).url), 'media', false);
    }
  }
  const time = parsePageDate(stringOf(item.date_modified) || stringOf(item.date_published));
  if (time !== undefined && time > (target.meta.modifiedAt ?? Number.NEGATIVE_INFINITY)) target.meta.modifiedAt = time;
  const html = new HtmlReader({ text: target.wantsText, links: target.wantsLinks }, target.links, 1);
  html.read(stringOf(item.content_html));
  if (!target.wantsText) return;
  for (const line of [title, stringOf(item.summary), stringOf(item.content_text), ...html.text.text.split('\n')]) {
    target.text.break();
    target.text.add(line);
  }
}
