/**
 * URLs of the archive in pages, in order of their keys, each with a summary of its captures. A page ends early when its
 * URLs have very many captures, so that no page takes long, and when its URLs are long.
 *
 * The cursor is the key of the last URL of a page, as base64url. The cursor has to fit into a URL. So after a key of
 * tens of thousands of characters, a page continues with the next few URLs.
 */
import { type Static, Type } from 'typebox';
import { type Archive, keyRanges } from '../../archive/index.ts';
import { formatW3cDate, fromUtf8, utf8 } from '../../base/index.ts';
import { behindKey, type Capture } from '../../catalog/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { invalidCursor } from '../http/problem.ts';
import { Count, countOf, named, W3cDate } from '../schema.ts';
import { DistinctCount } from './distinct-count.ts';

const PAGE_CAPTURES_MAX = 200_000;
const CURSOR_KEY_CHARACTERS_MAX = 40_000;
/** How many URLs a page may have beyond its limit because of long keys. */
const EXTRA_URLS_MAX = 100;
/** The maximum total length of the URLs and keys of a page. */
const CHARACTERS_MAX = 4 * 1024 * 1024;

export const UrlItem = named('UrlSummary', {
  url: Type.String({ description: 'As in its latest capture.' }),
  urlKey: Type.String({ description: 'The SURT key, by which captures are ordered.' }),
  captures: Count,
  distinct: countOf('Distinct contents.'),
  distinctIsLeast: Type.Optional(Type.Boolean({ description: 'There are more distinct contents than counted.' })),
  first: W3cDate,
  last: W3cDate,
  mime: Type.String({ description: 'Of the latest capture.' }),
});

export type UrlItem = Static<typeof UrlItem>;

export type UrlQuestion = {
  readonly prefix?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
};

export async function listUrls(
  archive: Archive,
  question: UrlQuestion,
  signal: AbortSignal,
): Promise<{ items: UrlItem[]; next?: string }> {
  const items: UrlItem[] = [];
  let sum: UrlSum | undefined;
  let scanned = 0;
  let characters = 0;
  const after = question.after === undefined ? {} : { after: behindKey(lastKeyOf(question.after)) };
  for (const range of keyRanges({ prefix: question.prefix })) {
    for await (const page of archive.captures({ ...range, ...after })) {
      signal.throwIfAborted();
      for (const capture of page) {
        scanned++;
        if (sum?.urlKey !== capture.urlKey) {
          if (sum) items.push(sum.item());
          const last = items.at(-1);
          if (last) characters += last.url.length + last.urlKey.length;
          const isFull = items.length >= question.limit || scanned > PAGE_CAPTURES_MAX || characters > CHARACTERS_MAX;
          if (last && isFull && (hasShortKey(last) || items.length >= question.limit + EXTRA_URLS_MAX))
            return { items, next: Buffer.from(utf8(last.urlKey)).toString('base64url') };
          sum = new UrlSum(capture);
        }
        sum.add(capture);
      }
    }
  }
  if (sum) items.push(sum.item());
  return { items };
}

/** Whether a page may end after this URL. */
function hasShortKey({ urlKey }: UrlItem): boolean {
  return urlKey.length <= CURSOR_KEY_CHARACTERS_MAX;
}

/** The key of the last URL of the previous page. */
function lastKeyOf(cursor: string): UrlKey {
  const key = fromUtf8(Buffer.from(cursor, 'base64url'));
  if (key === '') throw invalidCursor();
  return key as UrlKey;
}

class UrlSum {
  readonly #first: Capture;
  #last: Capture;
  #captures = 0;
  readonly #contents = new DistinctCount();

  constructor(first: Capture) {
    this.#first = first;
    this.#last = first;
  }

  get urlKey(): string {
    return this.#first.urlKey;
  }

  add(capture: Capture): void {
    this.#captures++;
    this.#last = capture;
    if (capture.block) this.#contents.add(capture.block);
  }

  item(): UrlItem {
    const { url, urlKey, mime, time } = this.#last;
    return {
      url,
      urlKey,
      captures: this.#captures,
      distinct: this.#contents.count,
      ...(!this.#contents.isExact && { distinctIsLeast: true }),
      first: formatW3cDate(this.#first.time),
      last: formatW3cDate(time),
      mime,
    };
  }
}
