/**
 * Keeps the index up with the archive: a client of the archive's stream with a cursor that survives crashes.
 *
 * ```
 *   new records     come from the stream behind the snapshot that was gone through last; contents that the index has are not read again
 *   deletions       segments with more deleted bytes than before, and segments that vanished, have their captures looked up in the catalog
 *   unresolved      revisits whose content was not known are asked about again
 * ```
 * The place in the stream is written with every batch. When the archive was rebuilt, or the cursor is older than
 * what compaction remembers, everything is gone through anew: contents stay, captures are claimed one by one, and those
 * that nobody claims leave.
 */
import { hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Archive, OutputDamage, Retrieved, StreamedRecord } from '../archive/index.ts';
import { type Finding, PinakesError } from '../base/index.ts';
import { DOCUMENT_BYTES_MAX, isPageMime, type Link, PAGE_BYTES_MAX, pageKind, redirectOf } from '../page/index.ts';
import { type UrlKey, urlKey } from '../url/index.ts';
import { findingOf } from '../warc/index.ts';
import { addTally, type EntryContent, emptyTally, type IndexEntry, type IndexTally } from './index-entry.ts';
import { indexError, SEARCH_FILE } from './sqlite/database.ts';
import { dropIndexFile, NEW_SEARCH_FILE } from './sqlite/index-exchange.ts';
import { exchangeIndexAside } from './sqlite/index-exchange-thread.ts';
import { type IndexTarget, IndexThread } from './sqlite/index-thread.ts';
import { isIndexTaken, takeIndexTurn } from './sqlite/index-turn.ts';
import { IndexView } from './sqlite/index-view.ts';
import { IndexWriter } from './sqlite/index-writer.ts';
import { edgesFile, type RankOptions, type RankReport } from './sqlite/rank.ts';
import { RankingStore } from './sqlite/ranking-store.ts';

type Capture = Retrieved['capture'];

/** Entries that are looked up and handed over together. */
const GROUP_ENTRIES = 128;
const GROUP_BYTES = 8 * 1024 * 1024;
/** A batch becomes visible after so many contents or bytes. */
const BATCH_DOCUMENTS = 5000;
const BATCH_BYTES = 256 * 1024 * 1024;
/** Of larger contents the beginning is read; what needs all of its bytes sees that there are more. */
const DOCUMENT_PAYLOAD_BYTES_MAX = DOCUMENT_BYTES_MAX + 1;
/** Of markup and text no more is read. A content coding makes what it cannot pack a little longer. */
const MARKUP_PAYLOAD_BYTES_MAX = PAGE_BYTES_MAX + 64 * 1024;

/** How often everything is begun anew within one run. */
const ATTEMPTS = 4;

/** No content has it. */
const REDIRECT_OVERFLOW = -1;

const CAPTURE_TYPES = new Set(['response', 'revisit', 'resource', 'conversion']);

/** Why a record cannot be read whatever is tried; what else fails may be another time's to do. */
const UNREADABLE = new Set<string>(['CONTENT_MISSING', 'OBJECT_MISSING', 'RECORD_DAMAGED']);

export type IndexProgress = { readonly tally: IndexTally; readonly records: number; readonly segment: string };

export type IndexOptions = {
  /** Contents after which a batch becomes visible. */
  readonly batchDocuments?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
  /** Told of every damaged record that is passed. What can be read of it is taken in. */
  readonly onDamage?: ((damage: OutputDamage) => void) | undefined;
  /** Told of every document that took too much memory or time to read, at the first of its captures. */
  readonly onFinding?: ((finding: Finding) => void) | undefined;
};

export type IndexReport = IndexTally & {
  records: number;
  /** Captures that left the archive, and now the index. */
  removed: number;
  /** Records that are damaged. They are not read again when they are sound again, unless the index is made anew. */
  damaged: number;
  /** Whether everything was gone through anew. */
  isAnew: boolean;
};

type FollowReport = Omit<IndexReport, keyof IndexTally>;

type Pending = { readonly record: PendingRecord; readonly content: EntryContent | undefined };
type PendingRecord = {
  readonly urlKey: UrlKey;
  readonly time: number;
  readonly segment: number;
  readonly offset: number;
  readonly hash: number | undefined;
  readonly collection: string;
  /** Where it leads, instead of having a page. */
  readonly redirect: Link | undefined;
};

export class Indexer {
  readonly #archive: Archive;
  readonly #target: IndexTarget;
  readonly #view: IndexView;
  readonly #rankings: RankingStore;
  readonly #path: string;
  readonly #inFlight = new Set<string>();
  readonly #endTurn: () => void;
  #last: Promise<void> = Promise.resolve();
  #tally = emptyTally();
  #isCaughtUp = false;

  private constructor(archive: Archive, target: IndexTarget, view: IndexView, path: string, endTurn: () => void) {
    this.#path = path;
    this.#archive = archive;
    this.#target = target;
    this.#view = view;
    this.#rankings = new RankingStore(archive);
    this.#endTurn = endTurn;
  }

  /**
   * Opens the index of an archive for writing, on a thread of its own. With a stopwatch, which gives milliseconds,
   * everything happens on this thread, and the tally says what took how long. Waits while this process has another
   * indexer of the same index. With `isAnew` a new index is made beside the one that stands, which serves meanwhile and
   * can be brought up by other indexers; `close` exchanges the two when the new one has caught up.
   */
  static async open(archive: Archive, stopwatch?: () => number, { isAnew = false } = {}): Promise<Indexer> {
    await archive.keepRoom();
    const built = join(archive.directory, NEW_SEARCH_FILE);
    const path = isAnew ? built : join(archive.directory, SEARCH_FILE);
    const endTurn = await takeIndexTurn(path);
    let target: IndexTarget | undefined;
    try {
      if (isAnew || !isIndexTaken(built)) await dropIndexFile(built);
      // Left by a ranking that was killed; it can be as large as the index.
      await rm(edgesFile(path), { force: true });
      const { documentMemory } = archive;
      target =
        stopwatch === undefined
          ? await IndexThread.start(path, documentMemory)
          : new IndexWriter(path, { stopwatch, documentMemory });
      return new Indexer(archive, target, new IndexView(path), path, endTurn);
    } catch (error) {
      await target?.close();
      endTurn();
      throw indexError(error);
    }
  }

  /** Takes in everything that the archive has and the index has not, and lets go of what the archive let go of. */
  async catchUp(options: IndexOptions = {}): Promise<IndexReport> {
    this.#tally = emptyTally();
    const report: FollowReport = { records: 0, removed: 0, damaged: 0, isAnew: false };
    const begun = this.#archive.clock();
    try {
      await this.#catchUpPatiently(report, options);
      await this.#target.commit({ anew: null, whole: String(begun) });
      await this.#target.purge();
      this.#isCaughtUp = true;
    } catch (error) {
      await this.#last.catch(() => {});
      // A writer that is gone has nothing to take back.
      await this.#target.rollBack().catch(() => {});
      throw indexError(error);
    } finally {
      this.#inFlight.clear();
    }
    return { ...this.#tally, ...report };
  }

  /**
   * A stream can expire on its way, when a segment is emptied and compacted away before it is read, or the archive is
   * rebuilt. A catalog that is being rebuilt does not know captures that are there: what was not found in it may not
   * have been deleted.
   */
  async #catchUpPatiently(report: FollowReport, options: IndexOptions): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const incarnation = await this.#archive.incarnation();
      try {
        while (await this.#follow(report, options));
        let removed = this.#view.state('anew') === undefined ? 0 : await this.#dropUnclaimed();
        removed += await this.#dropDeleted(options);
        await this.#askUnresolved(options);
        if ((await this.#archive.incarnation()) !== incarnation)
          throw new PinakesError('CURSOR_EXPIRED', { detail: 'the archive was rebuilt since' });
        report.removed += removed;
        return;
      } catch (error) {
        const isExpired = error instanceof PinakesError && error.code === 'CURSOR_EXPIRED';
        if (!isExpired || attempt >= ATTEMPTS) throw error;
        await this.#last;
        await this.#target.rollBack();
        // What was handed over is not in the index, and has to be handed over again.
        this.#inFlight.clear();
        await this.#target.disown();
        await this.#target.commit({ since: null, cursor: null, anew: 'yes' });
      }
    }
  }

  /** Says whether it ended the stream of an earlier run, which does not have what came since. */
  async #follow(report: FollowReport, options: IndexOptions): Promise<boolean> {
    const since = this.#view.state('since');
    const cursor = this.#view.state('cursor');
    report.isAnew ||= since === undefined && this.#view.state('anew') !== undefined;
    // An index that begins anew will not learn what left the archive before, and could not have it forgotten.
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
    const hand = async () => {
      await this.#hand(pending, options);
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
      await hand();
      if (this.#tally.documents - batch.documents >= batchDocuments || this.#tally.bytes - batch.bytes >= BATCH_BYTES) {
        await this.#last;
        batch = { documents: this.#tally.documents, bytes: this.#tally.bytes };
        await this.#target.commit({ cursor: stream.cursor() });
        this.#inFlight.clear();
      }
      options.onProgress?.({ tally: this.#tally, records: report.records, segment: record.segment.name });
    }
    await hand();
    await this.#last;
    await this.#target.commit({ since: stream.cursor(), cursor: null });
    this.#inFlight.clear();
    return cursor !== undefined;
  }

  /** What of a record the index may want; its payload is read when it may be a page that is not known yet. */
  async #pendingOf(record: StreamedRecord): Promise<Pending | undefined> {
    const { head, http, segment, collection } = record;
    if (!CAPTURE_TYPES.has(head.type) || head.targetUri === undefined) return undefined;
    const isRevisit = head.type === 'revisit';
    const mime = record.mime;
    const redirect = http && redirectOf(record.status, http.get('location'), head.targetUri);
    // Of a response that leads elsewhere browsers show nothing, so what it says is no page.
    const isPage = !redirect && (isPageMime(mime) || (isRevisit && http === undefined));
    if (!isPage && !redirect) return undefined;
    const { time } = head;
    const key = urlKey(head.targetUri);
    // From http to https, to a name with www: for the archive that is the same place, and no link.
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
    const gathered = await gather(record.payload(), mime);
    const content = gathered && {
      ...gathered,
      codings: http?.contentCodings ?? [],
      contentType: http?.get('content-type') ?? head.contentType ?? '',
    };
    return { record: pending, content };
  }

  /** Looks the captures up and hands them over; the next group is read while the writer works on this one. */
  async #hand(pending: readonly Pending[], options: IndexOptions): Promise<void> {
    const { signal } = options;
    if (pending.length === 0) return;
    const standing = await this.#archive.findCaptures(
      pending.map(({ record: { urlKey, time, segment, offset } }) => ({ urlKey, time, at: { segment, offset } })),
    );
    const moved = pending.flatMap(({ record }, index) => {
      const { urlKey, time, hash: ofHash } = record;
      return standing[index]!.length > 0 || ofHash === undefined
        ? []
        : [{ record, question: { urlKey, time, ofHash } }];
    });
    const found = await this.#archive.findCaptures(moved.map(({ question }) => question));
    const movedTo = new Map(
      moved.map(({ record }, index) => [record, found[index]!.find((one) => this.#isOf(one, record))]),
    );
    const entries: IndexEntry[] = [];
    const unresolved: { key: string; time: number; hash: number }[] = [];
    for (const [index, { record, content }] of pending.entries()) {
      const [here] = standing[index]!;
      // Compaction may have moved the record since the stream passed it. What is nowhere in the catalog was deleted.
      const capture = here ?? movedTo.get(record);
      if (!capture) continue;
      if (record.redirect) {
        entries.push(this.#redirectEntry(capture, record.redirect));
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
    await this.#last;
    if (unresolved.length > 0) await this.#target.setUnresolved(unresolved, true);
    this.#last = this.#add(entries, options);
    // Whoever waits next hears of a failure; until then nobody does, which must not count as unhandled.
    this.#last.catch(() => {});
  }

  #isOf({ collection }: Capture, record: PendingRecord): boolean {
    return this.#archive.collections.name(collection) === record.collection;
  }

  async #entryOf(
    capture: Capture,
    content: EntryContent | undefined,
    signal: AbortSignal | undefined,
  ): Promise<IndexEntry | undefined> {
    const { digest, overflow } = capture.block!;
    // What is no page as one type says may be one as another does.
    const id = `${Buffer.from(digest).toString('latin1')}~${overflow} ${capture.mime}`;
    const isKnown = this.#inFlight.has(id) || this.#view.isKnown(digest, overflow, capture.mime);
    const wanted = isKnown
      ? undefined
      : (content ?? (isPageMime(capture.mime) ? await this.#contentOf(capture, signal) : undefined));
    if (!isKnown && wanted === undefined) return undefined;
    if (!isKnown) this.#inFlight.add(id);
    return { ...this.#named(capture), digest: Uint8Array.from(digest), overflow, ...(wanted && { content: wanted }) };
  }

  #redirectEntry(capture: Capture, redirect: Link): IndexEntry {
    const digest = hash('sha256', `redirect ${redirect.href ?? redirect.url}`, 'buffer');
    return { ...this.#named(capture), digest: Uint8Array.from(digest), overflow: REDIRECT_OVERFLOW, redirect };
  }

  #named(capture: Capture): Omit<IndexEntry, 'digest' | 'overflow'> {
    return {
      key: capture.urlKey,
      url: capture.url,
      time: capture.time,
      hash: capture.hash,
      collection: this.#archive.collections.name(capture.collection),
      status: capture.status,
      mime: capture.mime,
      segment: capture.place.segment,
      offset: capture.place.offset,
    };
  }

  async #add(entries: readonly IndexEntry[], { onFinding }: IndexOptions): Promise<void> {
    const { tally, tooCostly } = await this.#target.add(entries);
    addTally(this.#tally, tally);
    for (const index of tooCostly) {
      const { segment, offset } = entries[index]!;
      const file = this.#archive.segments().find(({ number }) => number === segment)?.name ?? '';
      onFinding?.(findingOf('text-too-costly', file, offset, entries[index]!.url));
    }
  }

  /**
   * The content of a revisit, from the record that holds it. What is damaged of that was told, or will be, where the
   * stream passes it.
   */
  async #contentOf(capture: Capture, signal: AbortSignal | undefined): Promise<EntryContent | undefined> {
    signal?.throwIfAborted();
    const opened = await this.#archive.open(capture).catch((error: unknown) => {
      if (error instanceof PinakesError && UNREADABLE.has(error.code)) return undefined;
      throw error;
    });
    const gathered = opened && (await gather(opened.payload, capture.mime));
    if (!opened || !gathered) return undefined;
    const { holderHttp, head } = opened;
    return {
      ...gathered,
      codings: holderHttp?.contentCodings ?? [],
      contentType: holderHttp?.get('content-type') ?? head.contentType ?? '',
    };
  }

  /** Captures of segments that lost something are looked up; those that the catalog does not have leave the index. */
  async #dropDeleted({ signal }: IndexOptions): Promise<number> {
    const now = this.#archive.segments();
    const before = this.#view.segments();
    const standing = new Set(now.map(({ number }) => number));
    const suspects = now
      .filter(({ number, deadBytes }) => deadBytes > (before.get(number) ?? 0))
      .map(({ number }) => number);
    for (const number of this.#view.segmentsOfCaptures()) if (!standing.has(number)) suspects.push(number);
    let removed = 0;
    for (const number of suspects) {
      for await (const group of this.#view.capturesOf(number)) {
        signal?.throwIfAborted();
        const found = await this.#archive.findCaptures(
          group.map(({ key, time, hash }) => ({ urlKey: key as UrlKey, time, ofHash: hash })),
        );
        const gone = [];
        const moved = new Map<number, typeof group>();
        for (const [index, name] of group.entries()) {
          const capture = found[index]!.find(
            ({ collection }) => this.#archive.collections.name(collection) === name.collection,
          );
          if (!capture) gone.push(name);
          else if (capture.place.segment !== number) {
            const list = moved.get(capture.place.segment) ?? [];
            list.push(name);
            moved.set(capture.place.segment, list);
          }
        }
        if (gone.length > 0) {
          removed += await this.#target.remove(gone);
          await this.#rankings.forget(gone.map(({ key }) => key as UrlKey));
        }
        for (const [segment, names] of moved) await this.#target.move(names, segment);
      }
    }
    await this.#target.setSegments(now.map(({ number, deadBytes }) => [number, deadBytes] as const));
    return removed;
  }

  async #dropUnclaimed(): Promise<number> {
    let removed = 0;
    for (;;) {
      const some = await this.#target.removeSegment(-1, 10_000);
      removed += some;
      if (some === 0) return removed;
    }
  }

  async #askUnresolved(options: IndexOptions): Promise<void> {
    const { signal } = options;
    for (const group of this.#view.unresolved()) {
      signal?.throwIfAborted();
      const found = await this.#archive.findCaptures(
        group.map(({ key, time, hash }) => ({ urlKey: key as UrlKey, time, ofHash: hash })),
      );
      const entries: IndexEntry[] = [];
      const settled = [];
      for (const [index, name] of group.entries()) {
        const captures = found[index]!;
        if (captures.some(({ block }) => block === undefined)) continue;
        settled.push(name);
        for (const capture of captures) {
          const entry = await this.#entryOf(capture, undefined, signal);
          if (entry) entries.push(entry);
        }
      }
      await this.#add(entries, options);
      await this.#target.setUnresolved(settled, false);
    }
  }

  /** Whether captures came or left since ranks were computed. */
  get isRankDue(): boolean {
    return this.#view.state('unranked') !== undefined;
  }

  /** Computes ranks and citation counts over the links of the index. */
  rank(options: RankOptions = {}): Promise<RankReport> {
    return this.#target.rank(options);
  }

  /**
   * Breaks off what the writer is at, as a crash would: the index stays at its last whole batch. To be closed
   * afterwards.
   */
  async abandon(): Promise<void> {
    this.#isCaughtUp = false;
    if (this.#target instanceof IndexThread) await this.#target.abandon();
  }

  async close(): Promise<void> {
    const isExchanged = this.#isCaughtUp && this.#path.endsWith(NEW_SEARCH_FILE);
    // From here on nobody brings the old index up.
    const endOldTurn = isExchanged ? await takeIndexTurn(join(this.#archive.directory, SEARCH_FILE)) : () => {};
    try {
      try {
        // What the old index has taken in meanwhile must not be missing from the new one.
        if (isExchanged) await this.catchUp();
      } finally {
        this.#view.close();
        await this.#target.close();
        await rm(edgesFile(this.#path), { force: true });
      }
      if (isExchanged) await exchangeIndexAside(this.#archive.directory);
    } catch (error) {
      throw indexError(error);
    } finally {
      // One that did not become the index would only take room.
      if (this.#path.endsWith(NEW_SEARCH_FILE)) await dropIndexFile(this.#path).catch(() => {});
      endOldTurn();
      this.#endTurn();
    }
  }
}

/** The beginning of a payload and its size; undefined when it has no bytes, or is too large to find out what it is. */
async function gather(
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
