/**
 * Deleting: captures leave the catalog in the commit that enters a record of the deletion, which is durable by then, in
 * a segment of the deleter's own (D1). A content leaves the catalog with its last capture. Compaction removes the bytes
 * (I5, I6).
 *
 * The record lists marks, so it holds wherever the records of the captures are, now and after compaction, adoption and
 * rebuild (D2). All captures with a mark are deleted, since nothing else tells them apart for good. A capture that was
 * moved meanwhile is found again, and the record is made again with the captures as they are then.
 *
 * A deletion that is asked for again with the same id gives the first report, where it may happen only once: the id is
 * noted in the same commit. Every try first chooses the captures, then reads the note. If another process carried out
 * the request in between, the chosen captures are gone, and the next try finds the note.
 *
 * ```
 *   note  deletion:<id of the request>     JSON: number of captures, time
 * ```
 * Failures (C6): LEASE_LOST and ARCHIVE_BUSY say that nothing was deleted. After another retryable error it is not
 * known. Asking again is safe: with the same id, or for the same captures.
 */
import {
  AssertionError,
  assert,
  type Clock,
  type EpochMs,
  equal,
  formatW3cDate,
  type IdSource,
  PinakesError,
} from '../base/index.ts';
import type { Bar, BlockKey, Capture, CatalogView, Mark } from '../catalog/index.ts';
import { MemberEncoder, recordParts } from '../warc/index.ts';
import { DELETED_AT_ONCE_MAX, deletionRecord } from './deletion-record.ts';
import { deletionMarksOf } from './mark.ts';
import type { SegmentKind } from './open-segment.ts';
import type { RecordGroup, SegmentWriter } from './segment-writer.ts';

export const REQUEST_NOTE = 'deletion:';
/** A client asks again within this time. */
const REQUEST_LIFE_MS = 30 * 24 * 3600 * 1000;
/** Each try fails only because another process moved or deleted one of the captures. */
const TRIES_MAX = 1000;

export type DeletionOptions = {
  readonly catalog: Pick<CatalogView, 'findCaptures' | 'notes'>;
  /** The deleter's own. Nothing else is appended to it meanwhile. */
  readonly writer: Pick<SegmentWriter, 'openFor' | 'append' | 'commit' | 'rollBack'>;
  /** The segments for deletion records: collection number 0. */
  readonly kind: SegmentKind;
  readonly collectionName: (collection: number) => string | Promise<string>;
  /** What else is committed with the deletion of these captures. */
  readonly besides?: ((captures: readonly Capture[]) => Promise<BesidesDeletion>) | undefined;
  readonly clock: Clock;
  readonly newId: IdSource;
};

export type BesidesDeletion = Pick<RecordGroup, 'putNotes' | 'removeNotes' | 'keepsUnreferenced'>;

export type DeletionReport = {
  readonly captures: number;
  /** How many contents lost their last capture. Undefined: the request was carried out when it was asked before. */
  readonly contents: number | undefined;
};

export type DeletionRequest = {
  readonly id: string;
  /** The captures to delete, as they are now. Asked before each try. */
  readonly choose: () => Promise<readonly Capture[]>;
  /** Contents and URLs that may not come back. */
  readonly bars?: readonly Bar[];
  /** Whether a request with this id is carried out only once, whatever is chosen the next time. */
  readonly isOnce?: boolean;
};

export class Deleter {
  readonly #options: DeletionOptions;

  constructor(options: DeletionOptions) {
    this.#options = options;
  }

  /**
   * Deletes captures as they were seen, wherever they are now. Those that are gone are left out. The bars are in the
   * first commit.
   */
  async deleteCaptures(seen: readonly Capture[], id: string, bars: readonly Bar[] = []): Promise<DeletionReport> {
    let captures = 0;
    let contents = 0;
    for (let at = 0; at === 0 || at < seen.length; at += DELETED_AT_ONCE_MAX) {
      const step = seen.slice(at, at + DELETED_AT_ONCE_MAX);
      const report = await this.delete({ id, choose: () => this.#asTheyAre(step), bars: at === 0 ? bars : [] });
      captures += report.captures;
      contents += report.contents ?? 0;
    }
    return { captures, contents };
  }

  /** Carries out one request, in one commit. */
  async delete({ id, choose, bars = [], isOnce = false }: DeletionRequest): Promise<DeletionReport> {
    for (let tried = 0; tried < TRIES_MAX; tried++) {
      const captures = await choose();
      const first = isOnce ? await this.#reportOf(id) : undefined;
      if (first) return first;
      if (captures.length + bars.length === 0) return { captures: 0, contents: 0 };
      const report = await this.#commit(id, captures, bars, isOnce);
      if (report) return report;
    }
    throw new PinakesError('ARCHIVE_BUSY', { detail: 'the captures to delete are moved again and again' });
  }

  /** Removes the notes of requests that nobody asks for again. */
  async forgetOldRequests(): Promise<void> {
    const { catalog, writer, clock } = this.#options;
    const oldest = clock() - REQUEST_LIFE_MS;
    const notes = Object.entries(await catalog.notes(REQUEST_NOTE));
    const removeNotes = notes.flatMap(([name, text]) => (parseReport(text).time < oldest ? [name] : []));
    if (removeNotes.length > 0) await writer.commit({ removeNotes });
  }

  async #reportOf(id: string): Promise<DeletionReport | undefined> {
    const name = REQUEST_NOTE + id;
    const text = (await this.#options.catalog.notes(name))[name];
    if (text === undefined) return undefined;
    return { captures: parseReport(text).captures, contents: undefined };
  }

  /** Undefined: a capture is not where it was chosen any more. */
  async #commit(
    request: string,
    captures: readonly Capture[],
    bars: readonly Bar[],
    isOnce: boolean,
  ): Promise<DeletionReport | undefined> {
    assert(captures.length <= DELETED_AT_ONCE_MAX, 'a commit deletes a limited number of captures');
    const { writer, kind, newId, clock, collectionName, besides } = this.#options;
    const now = clock();
    const marks: Mark[][] = [];
    for (const capture of captures) marks.push(deletionMarksOf(capture, await collectionName(capture.collection)));
    const deletion = { time: formatW3cDate(now), request, marks: marks.flat(), bars };
    const { record, block } = deletionRecord(deletion, newId());
    const encoder = new MemberEncoder({ coding: kind.coding });
    try {
      writer.append(await writer.openFor(kind), encoder.encode(recordParts(record, block)));
      const { putNotes, ...others } = (await besides?.(captures)) ?? {};
      const requestNote = { [REQUEST_NOTE + request]: formatReport({ captures: captures.length, time: now }) };
      const outcome = await writer.commit({
        ...others,
        deletions: captures.map((capture, index) => ({ capture, mark: marks[index]![0]! })),
        deletedMarks: marks.flatMap((listed) => listed.slice(1)),
        bars,
        putNotes: { ...putNotes, ...(isOnce && requestNote) },
      });
      switch (outcome.kind) {
        case 'committed':
          return { captures: captures.length, contents: outcome.freed };
        case 'unknown':
          throw outcome.error;
        case 'moved':
          await writer.rollBack();
          return undefined;
        case 'fenced':
          throw outcome.why === 'adopting'
            ? new PinakesError('ARCHIVE_BUSY', { detail: 'what is in the volumes is being adopted' })
            : new PinakesError('LEASE_LOST', { detail: 'nothing was deleted' });
        default:
          throw new AssertionError(`a deletion is never ${outcome.kind}`);
      }
    } catch (error) {
      await writer.rollBack();
      throw error;
    } finally {
      encoder.close();
    }
  }

  /** The captures as the catalog has them at this moment. */
  async #asTheyAre(seen: readonly Capture[]): Promise<Capture[]> {
    const found = await this.#options.catalog.findCaptures(
      seen.map(({ urlKey, time, hash: ofHash }) => ({ urlKey, time, ofHash })),
    );
    const current = new Map<string, Capture>();
    for (const [index, capture] of seen.entries()) {
      const same = found[index]!.filter(({ collection }) => collection === capture.collection);
      const exact = same.filter(({ block }) => hasSameContent(block, capture.block));
      // The content of a revisit may have become known or unknown since.
      const chosen = exact.length > 0 ? exact : same.filter(({ block }) => !block || !capture.block);
      for (const now of chosen) current.set(`${now.place.segment} ${now.place.offset}`, now);
    }
    return [...current.values()];
  }
}

/** Marks do not tell contents apart that have the same digest. */
function hasSameContent(one: BlockKey | undefined, other: BlockKey | undefined): boolean {
  return one && other ? equal(one.digest, other.digest) : one === other;
}

type NotedReport = { readonly captures: number; readonly time: EpochMs };

function formatReport({ captures, time }: NotedReport): string {
  return JSON.stringify([captures, time]);
}

function parseReport(text: string): NotedReport {
  const [captures = 0, time = 0] = JSON.parse(text) as number[];
  return { captures, time };
}
