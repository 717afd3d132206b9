/**
 * Keeps the index up to date with the archive. It is a client of the archive's stream; its cursor survives crashes.
 *
 * ```
 *   new records     from a stream since the last snapshot; contents that the index has are not read again
 *   deletions       segments that vanished or have more deleted bytes: their captures are looked up in the catalog
 *   unresolved      revisits whose content was unknown are looked up again
 * ```
 * The cursor is written with every batch, and stays valid when the archive is rebuilt. If it has expired all the same,
 * the indexer reads the whole stream again. Contents stay in the index. Every capture that the stream has gets its
 * segment again; captures without a segment are removed at the end.
 *
 * The index knows a segment by its sequence number, which a rebuild does not change. After a rebuild, which may have
 * lost damaged records, all captures are looked up in the catalog.
 */
import { hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Archive, type OutputDamage, type Retrieved, type StreamedRecord, sequenceOf } from '../archive/index.ts';
import { type Finding, PinakesError } from '../base/index.ts';
import { DOCUMENT_BYTES_MAX, isPageMime, type Link, PAGE_BYTES_MAX, pageKind, redirectOf } from '../page/index.ts';
import { type UrlKey, urlKey } from '../url/index.ts';
import { warcFinding } from '../warc/index.ts';
import { addTally, type EntryContent, emptyTally, type IndexEntry, type IndexTally } from './index-entry.ts';
import { indexError, SEARCH_FILE } from './sqlite/database.ts';
import { isIndexLocked, lockIndex } from './sqlite/index-lock.ts';
import { IndexReader } from './sqlite/index-reader.ts';
import { dropIndexFile, NEW_SEARCH_FILE } from './sqlite/index-swap.ts';
import { swapIndexOnThread } from './sqlite/index-swap-thread.ts';
import { IndexThread, type IndexWriterMethods } from './sqlite/index-thread.ts';
import { IndexWriter } from './sqlite/index-writer.ts';
import { edgesFile, type RankOptions, type RankReport } from './sqlite/rank.ts';
import { RankingStore } from './sqlite/ranking-store.ts';

type Capture = Retrieved['capture'];

/** Entries are looked up and passed to the writer in groups of this size. */
const GROUP_ENTRIES = 128;
const GROUP_BYTES = 8 * 1024 * 1024;
/** A batch becomes visible after this many contents or bytes. */
const BATCH_DOCUMENTS = 5000;
const BATCH_BYTES = 256 * 1024 * 1024;
/** One byte more than readers of documents accept, so that they see that the document is too large. */
const DOCUMENT_PAYLOAD_BYTES_MAX = DOCUMENT_BYTES_MAX + 1;
/** The bytes read of markup and text. A content coding can make incompressible bytes a little longer. */
const MARKUP_PAYLOAD_BYTES_MAX = PAGE_BYTES_MAX + 64 * 1024;

/** The number of times that one run starts again after its cursor expired or the archive was rebuilt. */
const ATTEMPTS = 4;

/** The overflow number of redirects. No content has it. */
const REDIRECT_OVERFLOW = -1;

const CAPTURE_TYPES = new Set(['response', 'revisit', 'resource', 'conversion']);

/** Errors that repeat at every attempt to read the record. Other errors may go away. */
const UNREADABLE = new Set<string>(['CONTENT_MISSING', 'OBJECT_MISSING', 'RECORD_DAMAGED']);

export type IndexProgress = { readonly tally: IndexTally; readonly records: number; readonly segment: string };

export type IndexOptions = {
  /** The number of contents after which a batch becomes visible. */
  readonly batchDocuments?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
  /** Called with every damaged record. Its readable part is still indexed. */
  readonly onDamage?: ((damage: OutputDamage) => void) | undefined;
  /** Called with a finding for every document that took too much memory or time to read, at its first capture. */
  readonly onFinding?: ((finding: Finding) => void) | undefined;
};

export type IndexReport = IndexTally & {
  records: number;
  /** Captures that were removed from the index because they left the archive. */
  removed: number;
  /** Damaged records. After a repair they are read again only when the index is rebuilt. */
  damaged: number;
  /** True if the whole stream was read again. */
  isAnew: boolean;
};

type StreamReport = Omit<IndexReport, keyof IndexTally>;

type Pending = { readonly record: PendingRecord; readonly content: EntryContent | undefined };
type PendingRecord = {
  readonly urlKey: UrlKey;
  readonly time: number;
  readonly segment: number;
  readonly offset: number;
  readonly hash: number | undefined;
  readonly collection: string;
  /** The target of a redirect, which has no page. */
  readonly redirect: Link | undefined;
};

/** The archive was rebuilt during a batch. A catalog that is being rebuilt does not have all captures. */
class RebuiltMeanwhile extends Error {}

export class Indexer {
  readonly #archive: Archive;
  readonly #writer: IndexWriterMethods;
  readonly #reader: IndexReader;
  readonly #rankings: RankingStore;
  readonly #path: string;
  readonly #inFlight = new Set<string>();
  readonly #unlock: () => void;
  #adding: Promise<void> = Promise.resolve();
  #tally = emptyTally();
  /** The tally of the complete batches. */
  #committed = emptyTally();
  /** Rebuilds of the archive before this attempt. */
  #rebuilds = 0;
  /** Sequence numbers of segments, by their numbers. */
  #sequences = new Map<number, number>();
  #isCaughtUp = false;

  private constructor(
    archive: Archive,
    writer: IndexWriterMethods,
    reader: IndexReader,
    path: string,
    unlock: () => void,
  ) {
    this.#path = path;
    this.#archive = archive;
    this.#writer = writer;
    this.#reader = reader;
    this.#rankings = new RankingStore(archive);
    this.#unlock = unlock;
  }

  /**
   * Opens the index of an archive for writing, on its own thread. Waits while this process has another indexer of the
   * same index.
   *
   * With a stopwatch, which returns milliseconds, the writer runs on this thread, and the tally has the times. With
   * `isRebuild` the indexer builds a new index next to the old one. Other indexers can keep the old index up to date
   * meanwhile. `close` swaps the two if the new index has caught up.
   */
  static async open(
    archive: Archive,
    { stopwatch, isRebuild = false }: { stopwatch?: () => number; isRebuild?: boolean } = {},
  ): Promise<Indexer> {
    await archive.keepRoom();
    const newPath = join(archive.directory, NEW_SEARCH_FILE);
    const path = isRebuild ? newPath : join(archive.directory, SEARCH_FILE);
    const unlock = await lockIndex(path);
    let writer: IndexWriterMethods | undefined;
    try {
      if (isRebuild || !isIndexLocked(newPath)) await dropIndexFile(newPath);
      // A ranking that was killed leaves this file. It can be as large as the index.
      await rm(edgesFile(path), { force: true });
      const { documentMemory } = archive;
      writer =
        stopwatch === undefined
          ? await IndexThread.start(path, documentMemory)
          : new IndexWriter(path, { stopwatch, documentMemory });
      return new Indexer(archive, writer, new IndexReader(path), path, unlock);
    } catch (error) {
      await writer?.close();
      unlock();
      throw indexError(error);
    }
  }

  /** Indexes all captures that are new in the archive, and removes captures that the archive no longer has. */
  async catchUp(options: IndexOptions = {}): Promise<IndexReport> {
    this.#tally = emptyTally();
    this.#committed = emptyTally();
    const report: StreamReport = { records: 0, removed: 0, damaged: 0, isAnew: false };
    const begun = this.#archive.clock();
    const incarnation = await this.#archive.incarnation();
    try {
      await this.#catchUpWithRetries(report, options);
      await this.#writer.commit({ anew: null, whole: String(begun), incarnation: String(incarnation) });
      await this.#writer.purge();
      this.#isCaughtUp = true;
    } catch (error) {
      await this.#adding.catch(() => {});
      // A writer that has ended has no batch to roll back.
      await this.#writer.rollBack().catch(() => {});
      throw indexError(error);
    } finally {
      this.#inFlight.clear();
    }
    return { ...this.#tally, ...report };
  }

  /**
   * Goes on from the last complete batch if the archive is rebuilt meanwhile, and reads the whole stream again if the
   * cursor has expired.
   */
  async #catchUpWithRetries(report: StreamReport, options: IndexOptions): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.#rebuilds = this.#archive.rebuilds;
      this.#sequences.clear();
      try {
        while (await this.#readStream(report, options));
        let removed = this.#reader.state('anew') === undefined ? 0 : await this.#dropUnassigned();
        removed += await this.#dropDeleted(options);
        await this.#retryUnresolved(options);
        this.#assertNotRebuilt();
        report.removed += removed;
        return;
      } catch (error) {
        const isExpired = error instanceof PinakesError && error.code === 'CURSOR_EXPIRED';
        if (!(isExpired || error instanceof RebuiltMeanwhile) || attempt >= ATTEMPTS) throw error;
        await this.#adding.catch(() => {});
        await this.#writer.rollBack();
        this.#tally = { ...this.#committed };
        // Contents of the batch that was rolled back are not in the index, and must be read again.
        this.#inFlight.clear();
        if (!isExpired) continue;
        await this.#writer.unassignCaptures();
        await this.#writer.commit({ since: null, cursor: null, anew: 'yes' });
      }
    }
  }

  #assertNotRebuilt(): void {
    if (this.#archive.rebuilds !== this.#rebuilds) throw new RebuiltMeanwhile();
  }

  /**
   * Reads one stream to its end. Returns true if an earlier run began the stream: then newer records need another
   * stream.
   */
  async #readStream(report: StreamReport, options: IndexOptions): Promise<boolean> {
    const since = this.#reader.state('since');
    const cursor = this.#reader.state('cursor');
    report.isAnew ||= since === undefined && this.#reader.state('anew') !== undefined;
    // A new index cannot know which captures left the archive before, so it could not remove them from rankings.
    if (since === undefined && cursor === undefined) await this.#rankings.clear();
    const onDamage = (damage: OutputDamage) => {
      report.damaged++;
      options.onDamage?.(damage);
    };
    const stream = await this.#archive.stream({ since, cursor, signal: options.signal, onDamage });
    let pending: Pending[] = [];
    let bytes = 0;
    let batch = { documents: 0, bytes: 0 };
    const { batchDocuments = BATCH_DOCUMENTS } = options;
    const groupEntries = Math.min(GROUP_ENTRIES, batchDocuments);
    const submit = async () => {
      await this.#submit(pending, options);
      pending = [];
      bytes = 0;
    };
    for await (const record of stream) {
      options.signal?.throwIfAborted();
      report.records++;
      const found = await this.#pendingOf(record);
      if (!found) continue;
      pending.push(found);
      bytes += found.content?.payload.length ?? 0;
      if (pending.length < groupEntries && bytes < GROUP_BYTES) continue;
      await submit();
      if (this.#tally.documents - batch.documents >= batchDocuments || this.#tally.bytes - batch.bytes >= BATCH_BYTES) {
        await this.#adding;
        batch = { documents: this.#tally.documents, bytes: this.#tally.bytes };
        this.#assertNotRebuilt();
        await this.#writer.commit({ cursor: stream.cursor() });
        this.#committed = { ...this.#tally };
        this.#inFlight.clear();
      }
      options.onProgress?.({ tally: this.#tally, records: report.records, segment: record.segment.name });
    }
    await submit();
    await this.#adding;
    this.#assertNotRebuilt();
    await this.#writer.commit({ since: stream.cursor(), cursor: null });
    this.#committed = { ...this.#tally };
    this.#inFlight.clear();
    return cursor !== undefined;
  }

  /** The parts of a record that the index may need. Reads the payload if it may be an unknown page. */
  async #pendingOf(record: StreamedRecord): Promise<Pending | undefined> {
    const { head, http, segment, collection } = record;
    if (!CAPTURE_TYPES.has(head.type) || head.targetUri === undefined) return undefined;
    const isRevisit = head.type === 'revisit';
    const mime = record.mime;
    const redirect = http && redirectOf(record.status, http.get('location'), head.targetUri);
    // Browsers do not show the body of a redirect, so it is not a page.
    const isPage = !redirect && (isPageMime(mime) || (isRevisit && http === undefined));
    if (!isPage && !redirect) return undefined;
    const { time } = head;
    const key = urlKey(head.targetUri);
    // A redirect from http to https, or to www, has the same URL key. For the archive it is the same URL, and not a
    // link.
    if (time === undefined || (redirect && urlKey(redirect.url) === key)) return undefined;
    const pending = {
      urlKey: key,
      time,
      segment: segment.number,
      offset: head.offset,
      hash: record.captureHash,
      collection,
      redirect,
    };
    if (isRevisit || redirect) return { record: pending, content: undefined };
    const start = await payloadStart(record.payload(), mime);
    const content = start && {
      ...start,
      codings: http?.contentCodings ?? [],
      contentType: http?.get('content-type') ?? head.contentType ?? '',
    };
    return { record: pending, content };
  }

  /** Looks up the captures and passes them to the writer. The next group is read while the writer works on this one. */
  async #submit(pending: readonly Pending[], options: IndexOptions): Promise<void> {
    const { signal } = options;
    if (pending.length === 0) return;
    const atPlaces = await this.#archive.findCaptures(
      pending.map(({ record: { urlKey, time, segment, offset } }) => ({ urlKey, time, at: { segment, offset } })),
    );
    const moved = pending.flatMap(({ record }, index) => {
      const { urlKey, time, hash: ofHash } = record;
      return atPlaces[index]!.length > 0 || ofHash === undefined ? [] : [{ record, lookup: { urlKey, time, ofHash } }];
    });
    const found = await this.#archive.findCaptures(moved.map(({ lookup }) => lookup));
    const movedTo = new Map<PendingRecord, Capture | undefined>();
    for (const [index, { record }] of moved.entries())
      movedTo.set(record, await this.#inCollection(found[index]!, record.collection));
    const entries: IndexEntry[] = [];
    const unresolved: { key: string; time: number; hash: number }[] = [];
    for (const [index, { record, content }] of pending.entries()) {
      const [here] = atPlaces[index]!;
      // Compaction may have moved the record since the stream read it. A capture that is not in the catalog was
      // deleted.
      const capture = here ?? movedTo.get(record);
      if (!capture) continue;
      if (record.redirect) {
        entries.push(await this.#redirectEntry(capture, record.redirect));
        continue;
      }
      if (!capture.block) {
        if (capture.kind === 'revisit')
          unresolved.push({ key: capture.urlKey, time: capture.time, hash: capture.hash });
        continue;
      }
      const entry = await this.#entryOf(capture, here && content, signal);
      if (entry) entries.push(entry);
    }
    await this.#adding;
    if (unresolved.length > 0) await this.#writer.setUnresolved(unresolved, true);
    this.#adding = this.#add(entries, options);
    // The next await of #adding gets the failure. Before that, the failure must not count as an unhandled rejection.
    this.#adding.catch(() => {});
  }

  /** The first of these captures that is in the collection. */
  async #inCollection(captures: readonly Capture[], name: string): Promise<Capture | undefined> {
    const number = await this.#archive.collections.find(name);
    return captures.find(({ collection }) => collection === number);
  }

  async #entryOf(
    capture: Capture,
    content: EntryContent | undefined,
    signal: AbortSignal | undefined,
  ): Promise<IndexEntry | undefined> {
    const { digest, overflow } = capture.block!;
    // The media type is part of the id: a content may be a page under one media type and not under another.
    const id = `${Buffer.from(digest).toString('latin1')}~${overflow} ${capture.mime}`;
    const isKnown = this.#inFlight.has(id) || this.#reader.isKnown(digest, overflow, capture.mime);
    const newContent = isKnown
      ? undefined
      : (content ?? (isPageMime(capture.mime) ? await this.#contentOf(capture, signal) : undefined));
    if (!isKnown && newContent === undefined) return undefined;
    if (!isKnown) this.#inFlight.add(id);
    const block = { digest: Uint8Array.from(digest), overflow };
    return { ...(await this.#captureFields(capture)), ...block, ...(newContent && { content: newContent }) };
  }

  async #redirectEntry(capture: Capture, redirect: Link): Promise<IndexEntry> {
    const digest = hash('sha256', `redirect ${redirect.href ?? redirect.url}`, 'buffer');
    const block = { digest: Uint8Array.from(digest), overflow: REDIRECT_OVERFLOW };
    return { ...(await this.#captureFields(capture)), ...block, redirect };
  }

  async #captureFields(capture: Capture): Promise<Omit<IndexEntry, 'digest' | 'overflow'>> {
    return {
      key: capture.urlKey,
      url: capture.url,
      time: capture.time,
      hash: capture.hash,
      collection: await this.#archive.collections.name(capture.collection),
      status: capture.status,
      mime: capture.mime,
      segment: await this.#sequenceOf(capture.place.segment),
      offset: capture.place.offset,
    };
  }

  /** 0 for a segment that was removed since the capture was looked up. `#dropDeleted` looks the capture up again. */
  async #sequenceOf(number: number): Promise<number> {
    if (!this.#sequences.has(number))
      this.#sequences = new Map(
        (await this.#archive.segments()).map((segment) => [segment.number, sequenceOf(segment)]),
      );
    return this.#sequences.get(number) ?? 0;
  }

  async #add(entries: readonly IndexEntry[], { onFinding }: IndexOptions): Promise<void> {
    const { tally, tooCostly } = await this.#writer.add(entries);
    addTally(this.#tally, tally);
    for (const index of tooCostly) {
      const { segment, offset } = entries[index]!;
      const file = (await this.#archive.segments()).find((one) => sequenceOf(one) === segment)?.name ?? '';
      onFinding?.(warcFinding('text-too-costly', file, offset, entries[index]!.url));
    }
  }

  /**
   * The content of a revisit, from the record that holds it. Damage of that record is reported when the stream reads
   * it.
   */
  async #contentOf(capture: Capture, signal: AbortSignal | undefined): Promise<EntryContent | undefined> {
    signal?.throwIfAborted();
    const opened = await this.#archive.open(capture).catch((error: unknown) => {
      if (error instanceof PinakesError && UNREADABLE.has(error.code)) return undefined;
      throw error;
    });
    const start = opened && (await payloadStart(opened.payload, capture.mime));
    if (!opened || !start) return undefined;
    const { holderHttp, head } = opened;
    return {
      ...start,
      codings: holderHttp?.contentCodings ?? [],
      contentType: holderHttp?.get('content-type') ?? head.contentType ?? '',
    };
  }

  /** Looks up the captures of segments with new deletions, and removes captures that the catalog no longer has. */
  async #dropDeleted({ signal }: IndexOptions): Promise<number> {
    const now = await this.#archive.segments();
    const before = this.#reader.segments();
    const existing = new Set(now.map(sequenceOf));
    const isAll = await this.#isOfOtherIncarnation();
    const suspects = now
      .filter((segment) => isAll || segment.deadBytes > (before.get(sequenceOf(segment)) ?? 0))
      .map(sequenceOf);
    for (const sequence of this.#reader.segmentsOfCaptures()) if (!existing.has(sequence)) suspects.push(sequence);
    let removed = 0;
    for (const sequence of suspects) {
      for await (const group of this.#reader.capturesOf(sequence)) {
        signal?.throwIfAborted();
        const found = await this.#archive.findCaptures(
          group.map(({ key, time, hash }) => ({ urlKey: key as UrlKey, time, ofHash: hash })),
        );
        const gone = [];
        const moved = new Map<number, typeof group>();
        for (const [index, name] of group.entries()) {
          const capture = await this.#inCollection(found[index]!, name.collection);
          const there = capture && (await this.#sequenceOf(capture.place.segment));
          if (there === undefined) gone.push(name);
          else if (there !== sequence) {
            const list = moved.get(there) ?? [];
            list.push(name);
            moved.set(there, list);
          }
        }
        this.#assertNotRebuilt();
        if (gone.length > 0) {
          removed += await this.#writer.remove(gone);
          await this.#rankings.forget(gone.map(({ key }) => key as UrlKey));
        }
        for (const [segment, names] of moved) await this.#writer.move(names, segment);
      }
    }
    await this.#writer.setSegments(now.map((segment) => [sequenceOf(segment), segment.deadBytes] as const));
    return removed;
  }

  /** Whether the archive was rebuilt since the index was complete. */
  async #isOfOtherIncarnation(): Promise<boolean> {
    const known = this.#reader.state('incarnation');
    return known !== undefined && known !== String(await this.#archive.incarnation());
  }

  /** Removes captures that did not get a segment again. */
  async #dropUnassigned(): Promise<number> {
    let removed = 0;
    for (;;) {
      const some = await this.#writer.removeSegment(-1, 10_000);
      removed += some;
      if (some === 0) return removed;
    }
  }

  async #retryUnresolved(options: IndexOptions): Promise<void> {
    const { signal } = options;
    for (const group of this.#reader.unresolved()) {
      signal?.throwIfAborted();
      const found = await this.#archive.findCaptures(
        group.map(({ key, time, hash }) => ({ urlKey: key as UrlKey, time, ofHash: hash })),
      );
      const entries: IndexEntry[] = [];
      const resolved = [];
      for (const [index, name] of group.entries()) {
        const captures = found[index]!;
        if (captures.some(({ block }) => block === undefined)) continue;
        resolved.push(name);
        for (const capture of captures) {
          const entry = await this.#entryOf(capture, undefined, signal);
          if (entry) entries.push(entry);
        }
      }
      await this.#add(entries, options);
      await this.#writer.setUnresolved(resolved, false);
    }
  }

  /** True if captures were added or removed since ranks were computed. */
  get isRankDue(): boolean {
    return this.#reader.state('unranked') !== undefined;
  }

  /** Computes ranks and citation counts over the links of the index. */
  rank(options: RankOptions = {}): Promise<RankReport> {
    return this.#writer.rank(options);
  }

  /**
   * Stops the writer at once, as a crash would. The index stays at its last complete batch. Call `close` afterwards.
   */
  async abandon(): Promise<void> {
    this.#isCaughtUp = false;
    if (this.#writer instanceof IndexThread) await this.#writer.abandon();
  }

  async close(): Promise<void> {
    const isSwapped = this.#isCaughtUp && this.#path.endsWith(NEW_SEARCH_FILE);
    // From here on no other indexer writes the old index.
    const unlockOld = isSwapped ? await lockIndex(join(this.#archive.directory, SEARCH_FILE)) : () => {};
    try {
      try {
        // The new index must also have the records that other indexers added to the old index meanwhile.
        if (isSwapped) await this.catchUp();
      } finally {
        this.#reader.close();
        await this.#writer.close();
        await rm(edgesFile(this.#path), { force: true });
      }
      if (isSwapped) await swapIndexOnThread(this.#archive.directory);
    } catch (error) {
      throw indexError(error);
    } finally {
      // A new index that did not replace the old one would only take disk space.
      if (this.#path.endsWith(NEW_SEARCH_FILE)) await dropIndexFile(this.#path).catch(() => {});
      unlockOld();
      this.#unlock();
    }
  }
}

/** The start of a payload, and its size. Undefined if it is empty, or too large to detect an unknown type. */
async function payloadStart(
  payload: AsyncIterable<Uint8Array>,
  mime: string,
): Promise<Pick<EntryContent, 'payload' | 'size'> | undefined> {
  const kind = pageKind(mime, new Uint8Array(0));
  const isMarkup = kind !== undefined && kind !== 'pdf' && kind !== 'office';
  const bytesMax = isMarkup ? MARKUP_PAYLOAD_BYTES_MAX : DOCUMENT_PAYLOAD_BYTES_MAX;
  const pieces: Uint8Array[] = [];
  let held = 0;
  let size = 0;
  for await (const piece of payload) {
    const part = Uint8Array.from(piece.subarray(0, bytesMax - held));
    size += piece.length;
    held += part.length;
    if (part.length > 0) pieces.push(part);
    if (size > held && kind === undefined) return undefined;
  }
  if (size === 0) return undefined;
  return { payload: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, held), size };
}
