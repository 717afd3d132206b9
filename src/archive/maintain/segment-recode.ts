/**
 * Writes a segment anew in another compression: every record byte for byte as it was, including its id, in the same
 * order, each in a member of its own. Only the archive's own warcinfo at the beginning is replaced by one that names
 * the replaced segment.
 *
 * The replacement is read back from the volume and compared before it is sealed. Once sealed, it is used in place of
 * the old segment (see segment-swap.ts). The old segment is sealed and never changes, so storing and reading continue
 * meanwhile. Other writers may produce bytes that are not whole records in their own members. A segment with such bytes
 * is left alone, so that they are not lost.
 */
import { PinakesError, RunningDigest, toHex } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { type OpenSegment, Runs, runsOf } from '../../ledger/index.ts';
import { MemberEncoder, type ReadingRecord, readRecords } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type Member, MemberBytes } from '../read/member-bytes.ts';
import { noteRuns } from '../segment/replaced-runs.ts';
import { isOwnBeginning, replacedFields } from '../segment/replacement.ts';
import { kindOfSegment } from '../segment/segment-kind.ts';
import { appendStreamed } from '../segment/streamed-append.ts';
import { discardReplacement } from './segment-swap.ts';

const DAMAGED = 'a record in it is damaged; `pinakes verify` names it';

export type RecodeOptions = {
  readonly dictionary: Uint8Array | undefined;
  readonly level: number;
  readonly signal: AbortSignal | undefined;
};

/** The replacement of a segment, or why the segment was left as it is. */
export type Recoded =
  | { readonly kind: 'refused'; readonly why: string; readonly isDamaged?: boolean }
  | {
      readonly kind: 'written';
      readonly segment: Segment;
      readonly bytes: number;
      /**
       * Length of the old segment's tombstones. If they have grown since, the replacement still contains deleted
       * records.
       */
      readonly tombstoneBytes: number;
    };

export async function recodeSegment(
  archive: OpenedArchive,
  segment: Segment,
  options: RecodeOptions,
): Promise<Recoded> {
  const { segmentWriter, collections, volumes } = archive;
  const kind = kindOfSegment(segment, await collections.name(segment.collection), options.dictionary, 'zstd');
  const tombstoneBytes = await archive.tombstones.bytes(segment.name);
  if (tombstoneBytes > 0 || segment.deadBytes > 0) return { kind: 'refused', why: 'it holds deleted records' };
  const open = await segmentWriter.begin(kind, [], replacedFields({ name: segment.name, tombstoneBytes }));
  const recode = new Recode(archive, segment, open, options);
  try {
    const why = await recode.write();
    if (why !== undefined) {
      await discardReplacement(archive, open.segment);
      return { kind: 'refused', why, isDamaged: why === DAMAGED };
    }
    await recode.readBack();
    const fresh = await noteRuns(archive, { ...open.segment, bytes: 0, records: 0 }, recode.runs);
    await volumes.get(kind.volume).seal(fresh.name);
    return { kind: 'written', segment: fresh, bytes: open.position, tombstoneBytes };
  } catch (error) {
    await discardReplacement(archive, open.segment).catch(() => {});
    throw error;
  }
}

class Recode {
  readonly runs = new Runs();
  readonly #archive: OpenedArchive;
  readonly #segment: Segment;
  readonly #open: OpenSegment;
  readonly #options: RecodeOptions;
  /** Digest of all bytes that the members decode to. */
  readonly #digest = new RunningDigest('sha256');

  constructor(archive: OpenedArchive, segment: Segment, open: OpenSegment, options: RecodeOptions) {
    this.#archive = archive;
    this.#segment = segment;
    this.#open = open;
    this.#options = options;
  }

  /** Writes the replacement. Returns why that is not possible, or undefined when it is written. */
  async write(): Promise<string | undefined> {
    const { segmentWriter, volumes, access } = this.#archive;
    const volume = volumes.get(this.#segment.volume);
    const dictionary = await access.dictionaryOf(this.#segment.number);
    using source = new MemberBytes(volume, this.#segment.name, dictionary);
    const before = await runsOf(this.#archive.catalog, this.#segment);
    const encoder = new MemberEncoder({ coding: 'zstd', ...this.#options });
    let end = 0;
    try {
      for await (const { record, isOwn } of this.#records(this.#segment, dictionary)) {
        const { offset } = record.head;
        const length = record.tail?.length;
        if (length === undefined) return 'not all of its records can be read one by one';
        if (offset !== end || record.tail?.isComplete !== true) return 'it has bytes that are not whole records';
        end = offset + length;
        // With a new checksum, a damaged record would look sound.
        if (record.damage.length > 0) return DAMAGED;
        if (isOwn) continue;
        this.runs.add(before, { from: offset, offset: this.#open.position, bytes: length, isAnew: true });
        await this.#encode(encoder, source, { offset, length });
        if (segmentWriter.isFull(this.#open)) await segmentWriter.flush(this.#open);
      }
      if (end !== this.#segment.bytes) return 'it has bytes after its last record';
      await segmentWriter.flush(this.#open);
      await volume.sync([this.#open.segment.name]);
      return undefined;
    } finally {
      encoder.close();
    }
  }

  async #encode(encoder: MemberEncoder, source: MemberBytes, member: Member): Promise<void> {
    const { segmentWriter } = this.#archive;
    const whole = await source.whole(member);
    if (whole) {
      this.#digest.update(whole);
      segmentWriter.append(this.#open, encoder.encode([whole]));
      return;
    }
    let length = 0;
    for await (const piece of source.pieces(member)) length += piece.length;
    const pieces = this.#hashed(source.pieces(member));
    await appendStreamed(segmentWriter, this.#open, encoder, { length, pieces });
  }

  async *#hashed(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      this.#digest.update(piece);
      yield piece;
    }
  }

  /** Compares the bytes that the written members decode to, record by record. */
  async readBack(): Promise<void> {
    const { dictionary } = this.#options;
    const { name, volume: volumeName } = this.#open.segment;
    const volume = this.#archive.volumes.get(volumeName);
    using source = new MemberBytes(volume, name, dictionary);
    const digest = new RunningDigest('sha256');
    let isFirst = true;
    for await (const { record } of this.#records({ ...this.#open.segment, bytes: this.#open.position }, undefined)) {
      const { length } = record.tail!;
      if (!isFirst && length !== undefined) {
        const member = { offset: record.head.offset, length };
        const whole = await source.whole(member);
        if (whole) digest.update(whole);
        else for await (const piece of source.pieces(member)) digest.update(piece);
      }
      isFirst = false;
    }
    if (toHex(digest.finish().bytes) === toHex(this.#digest.finish().bytes)) return;
    const detail = 'what was written does not read back as it was';
    throw new PinakesError('VOLUME_IO', { where: `volume ${volumeName}: ${name}`, detail });
  }

  /** Every record, read to its end, and whether it is the archive's own first record. */
  async *#records(
    segment: Segment,
    dictionary: Uint8Array | undefined,
  ): AsyncGenerator<{ record: ReadingRecord; isOwn: boolean }> {
    const { name, volume, bytes } = segment;
    const records = readRecords(this.#archive.volumes.get(volume).stream(name, 0, bytes), {
      name,
      dictionary: dictionary && Buffer.from(dictionary),
      checkDigests: this.#archive.access.checkOf(segment),
      signal: this.#options.signal,
    });
    let isFirst = true;
    for await (const record of records) {
      const isOwn = isFirst && (await isOwnBeginning(record, name));
      for await (const _ of record.body());
      isFirst = false;
      yield { record, isOwn };
    }
  }
}
