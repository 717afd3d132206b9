/** Stores the captures of a crawl and finds them again. */
import { type Archive, type Capture, rangeOfKey, type Stored } from '../archive/index.ts';
import type { EpochMs } from '../base/index.ts';
import { urlKey } from '../url/index.ts';
import type { Field, HttpHead } from '../warc/index.ts';
import type { Exchange } from './fetch/exchange.ts';
import type { ReceivedBody } from './fetch/received-body.ts';
import type { QueuedUrl } from './frontier/known-url.ts';
import { type Content, contentOf, READ_BYTES_MAX } from './links/page-links.ts';
import type { CrawlSettings } from './settings.ts';

/** A stored response, decoded. */
export type StoredResponse = { readonly head: HttpHead; readonly content: Content };

/** The kind of request that a page made, in the field that crawlers with browsers use. */
export const RESOURCE_TYPE_FIELD = 'WARC-Resource-Type';
/**
 * Kinds of requests that scripts make. They may have a body, so their answers can differ from the answer to a plain
 * visit of the URL.
 */
export const SCRIPT_TYPES: ReadonlySet<string> = new Set([
  'xhr',
  'fetch',
  'ping',
  'eventsource',
  'preflight',
  'cspviolationreport',
]);

export class CrawlCaptures {
  readonly #archive: Archive;
  readonly #settings: CrawlSettings;
  readonly #startedAt: EpochMs;
  #collection: number | undefined;

  constructor(archive: Archive, settings: CrawlSettings, startedAt: EpochMs) {
    this.#archive = archive;
    this.#settings = settings;
    this.#startedAt = startedAt;
  }

  /** `notModified`: the earlier capture that the server confirmed. */
  store(
    exchange: Exchange,
    body: ReceivedBody,
    notModified: Capture | undefined,
    recordFields: readonly Field[] = [],
  ): Promise<Stored> {
    return this.#archive.store(
      {
        kind: 'http',
        url: exchange.url,
        time: exchange.time,
        responseHead: body.head,
        http: exchange.head,
        body: body.source,
        request: exchange.request,
        fields: () => [...exchange.fields(), ...recordFields],
        ...(notModified && { notModified }),
      },
      // A rendered page waits until its answer is stored, so the store must not be delayed.
      { collection: this.#settings.collection, mayWait: this.#settings.browser === 'none' },
    );
  }

  /**
   * A capture of this run later than `loggedAt`. An interrupted process stored it without logging the visit, or a
   * rendered page requested it. Captures of script requests do not count.
   */
  async findDone(url: string, loggedAt: EpochMs = 0): Promise<Capture | undefined> {
    this.#collection ??= await this.#archive.collections.number(this.#settings.collection);
    const range = { ...rangeOfKey(urlKey(url)), timeFrom: Math.max(this.#startedAt, loggedAt + 1) };
    for await (const page of this.#archive.captures(range)) {
      for (const capture of page) {
        if (capture.url !== url || capture.collection !== this.#collection) continue;
        if (this.#settings.browser === 'none' || !(await this.#isFromScript(capture))) return capture;
      }
    }
    return undefined;
  }

  async #isFromScript({ place }: Capture): Promise<boolean> {
    const [head] = await this.#archive.records.heads([place]);
    return SCRIPT_TYPES.has(head?.get(RESOURCE_TYPE_FIELD.toLowerCase()) ?? '');
  }

  /** The capture whose validators may be sent; undefined when the archive no longer holds its content. */
  async validatorCapture(item: QueuedUrl): Promise<Capture | undefined> {
    if (!this.#settings.conditional || item.captured === undefined) return undefined;
    if (item.etag === undefined && item.modified === undefined) return undefined;
    const [found] = await this.#archive.findCaptures([{ urlKey: urlKey(item.url), time: item.captured }]);
    const capture = found!.find(({ url, block }) => url === item.url && block !== undefined);
    if (!capture) return undefined;
    const [block] = await this.#archive.getBlocks([capture.block!]);
    return block && capture;
  }

  /** Reads and decodes a capture, up to READ_BYTES_MAX. */
  async readResponse(capture: Capture): Promise<StoredResponse | undefined> {
    const { http, holderHttp, payload } = await this.#archive.open(capture);
    const head = capture.status === 304 ? holderHttp : http;
    if (!head) return undefined;
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of payload) {
      bytes += piece.length;
      if (bytes > READ_BYTES_MAX) break;
      parts.push(Buffer.from(piece));
    }
    const content = contentOf(Buffer.concat(parts), holderHttp ?? head, false);
    return { head, content: bytes > READ_BYTES_MAX ? { ...content, isWhole: false } : content };
  }
}
