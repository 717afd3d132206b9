/**
 * Writes a segment anew in another compression: every record byte for byte as it was, including its id, in the same
 * order, each in a member of its own. Only the archive's own warcinfo at the beginning is replaced by one that names
 * the replaced segment.
 *
 * The replacement is read back from the volume and compared before it is swapped in (see segment-swap.ts). The old
 * segment is sealed and never changes, so storing and reading continue meanwhile. Other writers may produce bytes that
 * are not whole records in their own members. A segment with such bytes is left alone, so that they are not lost.
 */
import { PinakesError, RunningDigest, toHex } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { isRunsRecord, type Replacement, type ReplacementWriter } from '../../ledger/index.ts';
import { MemberEncoder, type ReadingRecord, readRecords } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type Member, MemberBytes } from '../read/member-bytes.ts';
import { isOwnBeginning, tombstonesField } from '../segment/replacement.ts';
import { kindOfSegment } from '../segment/segment-kind.ts';
import { beginReplacement, discardReplacement } from './segment-swap.ts';

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
      readonly replacement: Replacement;
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
  const { collections, tombstones } = archive;
  const kind = kindOfSegment(segment, await collections.name(segment.collection), options.dictionary, 'zstd');
  const tombstoneBytes = await tombstones.bytes(segment.name);
  if (tombstoneBytes > 0 || segment.deadBytes > 0) return { kind: 'refused', why: 'it holds deleted records' };
  const noted = tombstonesField(tombstoneBytes);
  const writer = await archive.exclusive(() => beginReplacement(archive, segment, kind, [noted]));
  const discard = () => archive.exclusive(() => discardReplacement(archive, writer.row));
  const recode = new Recode(archive, segment, writer, options);
  try {
    const why = await recode.write();
    if (why !== undefined) {
      writer.abandon();
      await discard();
      return { kind: 'refused', why, isDamaged: why === DAMAGED };
    }
    const replacement = await writer.finish();
    await recode.readBack(replacement.bytes);
    return { kind: 'written', replacement, tombstoneBytes };
  } catch (error) {
    await discard().catch(() => {});
    throw error;
  }
}

class Recode {
  readonly #archive: OpenedArchive;
  readonly #segment: Segment;
  readonly #writer: ReplacementWriter;
  readonly #options: RecodeOptions;
  /** Digest of all bytes that the members decode to. */
  readonly #digest = new RunningDigest('sha256');

  constructor(archive: OpenedArchive, segment: Segment, writer: ReplacementWriter, options: RecodeOptions) {
    this.#archive = archive;
    this.#segment = segment;
    this.#writer = writer;
    this.#options = options;
  }

  /** Writes the replacement. Returns why that is not possible, or undefined when it is written. */
  async write(): Promise<string | undefined> {
    const { stores, access } = this.#archive;
    const store = stores.get(this.#segment.volume);
    const dictionary = await access.dictionaryOf(this.#segment.number);
    using source = new MemberBytes(store, this.#segment, dictionary);
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
        await this.#writer.put(this.#segment, offset, await this.#encode(encoder, source, { offset, length }));
      }
      if (end !== this.#segment.bytes) return 'it has bytes after its last record';
      return undefined;
    } finally {
      encoder.close();
    }
  }

  async #encode(
    encoder: MemberEncoder,
    source: MemberBytes,
    member: Member,
  ): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
    const whole = await source.whole(member);
    if (whole) {
      this.#digest.update(whole);
      return encoder.encode([whole]);
    }
    let length = 0;
    for await (const piece of source.pieces(member)) length += piece.length;
    return encoder.encodeStream(this.#hashed(source.pieces(member)), length);
  }

  async *#hashed(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      this.#digest.update(piece);
      yield piece;
    }
  }

  /** Compares the bytes that the written members decode to, record by record. */
  async readBack(bytes: number): Promise<void> {
    const { dictionary } = this.#options;
    const written = { ...this.#writer.row, state: 'sealed', bytes } as const;
    using source = new MemberBytes(this.#archive.stores.get(written.volume), written, dictionary);
    const digest = new RunningDigest('sha256');
    for await (const { record, isOwn } of this.#records(written, undefined)) {
      const { length } = record.tail!;
      if (isOwn || length === undefined) continue;
      const member = { offset: record.head.offset, length };
      const whole = await source.whole(member);
      if (whole) digest.update(whole);
      else for await (const piece of source.pieces(member)) digest.update(piece);
    }
    if (toHex(digest.finish().bytes) === toHex(this.#digest.finish().bytes)) return;
    const detail = 'what was written does not read back as it was';
    throw new PinakesError('VOLUME_IO', { where: `volume ${written.volume}: ${written.name}`, detail });
  }

  /** Every record, read to its end, and whether the archive wrote it about the segment itself. */
  async *#records(
    segment: Segment,
    dictionary: Uint8Array | undefined,
  ): AsyncGenerator<{ record: ReadingRecord; isOwn: boolean }> {
    const { name, volume, bytes } = segment;
    const records = readRecords(this.#archive.stores.get(volume).stream(segment, 0, bytes), {
      name,
      dictionary: dictionary && Buffer.from(dictionary),
      checkDigests: this.#archive.access.checkOf(segment),
      signal: this.#options.signal,
    });
    let isFirst = true;
    for await (const record of records) {
      const isOwn = (isFirst && (await isOwnBeginning(record, name))) || isRunsRecord(record.head);
      for await (const _ of record.body());
      isFirst = false;
      yield { record, isOwn };
    }
  }
}
