/**
 * Giving captures and contents back: the head comes from the capture's own record, the payload from the record that holds the block, decoded by that
 * record's transfer coding.
 */
import { type EpochMs, PinakesError } from '../base/index.ts';
import { type Block, type BlockKey, type Capture, type CatalogView, type Place, rangeOfKey } from '../catalog/index.ts';
import { urlKey } from '../url/index.ts';
import type { HttpHead, RecordHead } from '../warc/index.ts';
import { RecentRecords } from './recent-records.ts';
import { type OpenedRecord, openedOf, type RecordAccess, releasePayload } from './record-access.ts';

/** How often a read is tried again when compaction moved the record between the look-up and the read. */
const ATTEMPTS = 3;

export type Retrieved = {
  readonly capture: Capture;
  /** Head of the capture's own record. */
  readonly head: RecordHead;
  /** HTTP head of the capture's own record. */
  readonly http: HttpHead | undefined;
  /** HTTP head of the record that holds the payload: its content codings are the payload's. */
  readonly holderHttp: HttpHead | undefined;
  /** Body without transfer coding, content coding kept. */
  readonly payload: AsyncIterable<Uint8Array>;
};

export type RetrievedContent = { readonly block: Block; readonly payload: AsyncIterable<Uint8Array> };

export class Retrieval {
  readonly #catalog: CatalogView;
  readonly #access: RecordAccess;
  readonly #recent = new RecentRecords();

  constructor(catalog: CatalogView, access: RecordAccess) {
    this.#catalog = catalog;
    this.#access = access;
  }

  /** Captures of a URL in order of time; those whose URL differs from the one asked for, though their key is the same, included. */
  async *captures(
    url: string,
    range: { from?: EpochMs; to?: EpochMs; reverse?: boolean } = {},
  ): AsyncGenerator<Capture> {
    const { from, to, reverse } = range;
    const pages = this.#catalog.captures({
      ...rangeOfKey(urlKey(url)),
      ...(from !== undefined && { timeFrom: from }),
      ...(to !== undefined && { timeTo: to }),
      ...(reverse !== undefined && { reverse }),
    });
    for await (const page of pages) yield* page;
  }

  nearest(url: string, time: EpochMs, side: 'either' | 'notAfter' = 'either'): Promise<Capture | undefined> {
    return this.#catalog.nearest(urlKey(url), time, side);
  }

  /** The latest capture of a URL. */
  latest(url: string): Promise<Capture | undefined> {
    return this.#catalog.nearest(urlKey(url), Number.MAX_SAFE_INTEGER, 'notAfter');
  }

  async open(capture: Capture): Promise<Retrieved> {
    return this.#patiently(capture, async (current) => {
      const own = await this.#open(current.place);
      if (!current.block || current.kind !== 'revisit') return assembled(current, own, own);
      const [block] = await this.#catalog.getBlocks([current.block]);
      if (!block || samePlace(block.holder, current.place)) return assembled(current, own, own);
      await releasePayload(own.payload);
      return assembled(current, own, await this.#open(block.holder));
    });
  }

  /** Forgets what it knows of segments by their numbers, for a rebuild. */
  forget(): void {
    this.#recent.forget();
  }

  async #open(place: Place): Promise<OpenedRecord> {
    const recent = this.#recent.get(place);
    if (recent) return openedOf(recent);
    const whole = await this.#access.openWhole(place);
    if (!whole) return this.#access.openStreamed(place);
    this.#recent.keep(place, whole);
    return openedOf(whole);
  }

  async content(key: BlockKey): Promise<RetrievedContent> {
    for (let attempt = 1; ; attempt++) {
      const [block] = await this.#catalog.getBlocks([key]);
      if (!block)
        throw new PinakesError('CONTENT_MISSING', { where: `sha256:${Buffer.from(key.digest).toString('hex')}` });
      try {
        return { block, payload: (await this.#access.open(block.holder)).payload };
      } catch (error) {
        if (attempt >= ATTEMPTS || !isMoved(error)) throw error;
      }
    }
  }

  /** Tries again with the capture as the catalog knows it now, when its record was moved. */
  async #patiently<T>(capture: Capture, work: (capture: Capture) => Promise<T>): Promise<T> {
    let current = capture;
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(current);
      } catch (error) {
        if (attempt >= ATTEMPTS || !isMoved(error)) throw error;
        const found = (await this.#catalog.findCaptures([current]))[0]!;
        const same = found.find((other) => other.hash === capture.hash && other.collection === capture.collection);
        if (!same) throw error;
        current = same;
      }
    }
  }
}

function assembled(capture: Capture, own: OpenedRecord, holder: OpenedRecord): Retrieved {
  return { capture, head: own.head, http: own.http, holderHttp: holder.http, payload: holder.payload };
}

function samePlace(a: Place, b: Place): boolean {
  return a.segment === b.segment && a.offset === b.offset;
}

function isMoved(error: unknown): boolean {
  return error instanceof PinakesError && (error.code === 'OBJECT_MISSING' || error.code === 'CONTENT_MISSING');
}
