/**
 * Reads single records of segments: small ones whole, which is faster, and large ones in pieces.
 *
 * Both ways verify the checksum of the member. If it does not have one, they verify the known digests of the record.
 * Reading a record whole succeeds only if it is sound. Other records are read in pieces, which returns everything
 * readable and reports the damage.
 */
import { type Finding, mapLimited, PinakesError } from '../../base/index.ts';
import type { CatalogView, Place, Segment } from '../../catalog/index.ts';
import type { SegmentBytes, SegmentStores } from '../../ledger/index.ts';
import {
  BlockScanner,
  type DecodedRecord,
  type DigestCheck,
  dictionaryOfFile,
  type HttpHead,
  memberHasChecksum,
  type ReadingRecord,
  type ReadOptions,
  RecordDecoder,
  type RecordHead,
  readRecords,
} from '../../warc/index.ts';
import { type Damage, damageError, damageOf, ifGiven, isBadSector, isDamage } from '../damage.ts';
import { isOwnBeginning } from '../segment/replacement.ts';
import { codingOfName } from '../segment/segment-kind.ts';
import type { SegmentRegistry } from '../segment/segment-registry.ts';
import { PROBLEM_CATALOGUE, problemFinding } from '../verify-problem.ts';
import { BytesBeforeGap } from './bytes-before-gap.ts';
import { ContentCheck } from './content-check.ts';
import { ContentCopies, type WholeRecord } from './content-copies.ts';

/** Members up to this size are read and decoded at once. */
export const WHOLE_BYTES_MAX = 1024 * 1024;
/** The number of cached dictionaries. Each takes at most a few hundred kilobytes. */
const DICTIONARIES_MAX = 64;
/** This many bytes of a member contain the head of its record, unless the head is very long. */
const HEAD_START_BYTES = 4 * 1024;
/** Heads are read from this many segments at a time. */
const SEGMENTS_AT_ONCE = 16;

export type OpenedRecord = {
  readonly head: RecordHead;
  readonly http: HttpHead | undefined;
  /** Body without transfer coding and with its content coding. To be read once, to its end or to a `return`. */
  readonly payload: AsyncIterable<Uint8Array>;
  /** Whether the record is already known to be undamaged. */
  readonly isSound: boolean;
  /** The damage of the record. It is complete when the payload was read to its end. */
  damage(): readonly Finding[];
};

type RecordsOptions = {
  /** Called with damage where no record could be read. */
  readonly onUnreadable?: ((finding: Finding) => void) | undefined;
  /** How many bytes of a member are kept in memory, to read as much as possible of it when it is damaged. */
  readonly lookBackBytes?: number | undefined;
  /**
   * For callers that report missing bytes. Bytes that the disk cannot read are skipped and reported as unreadable.
   * Bytes that are missing at the end of the segment are reported too, and so are NULs in segments that the archive
   * began.
   */
  readonly skipsGaps?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Where a record is, with its segment by name. */
export type RecordLocation = Pick<Place, 'offset' | 'length'> & {
  readonly volume: string;
  readonly segment: string;
  /** Length of the segment, up to its last committed record. */
  readonly segmentBytes: number;
};

/** The methods with which other rooms read single records. */
export type RecordReader = Pick<RecordAccess, 'locate' | 'heads' | 'open' | 'memberPieces' | 'recordsBehind'>;

/** A segment in a volume, with a row or without one. */
type StoredSegment = SegmentBytes & Pick<Segment, 'volume'>;

export class RecordAccess {
  readonly copies: ContentCopies;
  readonly #stores: Pick<SegmentStores, 'get'>;
  readonly #segmentRegistry: SegmentRegistry;
  readonly #decoder = new RecordDecoder();
  /** By the name of the segment. */
  readonly #dictionaries = new Map<string, Uint8Array | undefined>();
  /** Whether the archive itself began a segment, by the name of the segment. */
  readonly #own = new Map<string, boolean>();
  readonly #check: ContentCheck;

  constructor(
    stores: Pick<SegmentStores, 'get'>,
    segmentRegistry: SegmentRegistry,
    catalog: Pick<CatalogView, 'findCaptures' | 'notes'>,
    fingerprint: (digest: Uint8Array) => Uint8Array,
  ) {
    this.#stores = stores;
    this.copies = new ContentCopies(catalog, stores, fingerprint);
    this.#segmentRegistry = segmentRegistry;
    this.#check = new ContentCheck(catalog, fingerprint);
  }

  close(): void {
    this.copies.close();
    this.#decoder.close();
  }

  /** Where the records at these places are. Undefined for a segment that no longer exists. */
  async locate(places: readonly Place[]): Promise<(RecordLocation | undefined)[]> {
    const segments = await Promise.all(places.map(({ segment }) => this.#segmentRegistry.find(segment)));
    return places.map(({ offset, length }, index) => {
      const found = segments[index];
      return found && { volume: found.volume, segment: found.name, segmentBytes: found.bytes, offset, length };
    });
  }

  /** The segment of a place. Fails when it no longer exists. */
  segmentOf({ segment }: Place): Promise<Segment> {
    return this.#segmentRegistry.get(segment);
  }

  /** The member as it is in the segment. */
  async member(place: Place): Promise<Uint8Array> {
    const segment = await this.#segmentRegistry.get(place.segment);
    const { offset, length } = place;
    const [bytes] = await this.#stores.get(segment.volume).read(segment, [{ offset, length }]);
    return bytes!;
  }

  /** The member; undefined when the disk cannot read it. */
  memberIfGiven(place: Place): Promise<Uint8Array | undefined> {
    return ifGiven(this.member(place));
  }

  /** The member in pieces, each valid until the next one is read. */
  async *memberPieces(place: Place): AsyncGenerator<Uint8Array> {
    const segment = await this.#segmentRegistry.get(place.segment);
    yield* this.#stores.get(segment.volume).stream(segment, place.offset, place.offset + place.length);
  }

  /** Head and payload of the record at a place. */
  async open(place: Place): Promise<OpenedRecord> {
    const whole = await this.openWhole(place);
    return whole ? openedOf(whole) : this.openStreamed(place);
  }

  /**
   * Opens a record that will be written anew, or returns its damage. With a new length and a new checksum, a damaged
   * record would look sound. A large record is read twice: first to find out whether it is sound.
   */
  async openSound(place: Place, url: string | undefined): Promise<OpenedRecord | Damage> {
    try {
      const record = await this.open(place);
      if (record.isSound) return record;
      for await (const _ of record.payload);
      return (await this.damageAt(place, record.damage(), url)) ?? (await this.open(place));
    } catch (error) {
      if (!isDamage(error) && !isBadSector(error)) throw error;
      return await this.absenceAt(place, [], url);
    }
  }

  /** The record at a place. Undefined when it is large, damaged, or shares its member. */
  async openWhole(place: Place): Promise<WholeRecord | undefined> {
    if (place.length > WHOLE_BYTES_MAX) return undefined;
    const record = await this.soundRecord(place, await this.member(place));
    return record && wholeOf(record);
  }

  /**
   * The record in the member at a place. Undefined when the member is damaged or does not contain exactly one whole
   * record.
   */
  async soundRecord(place: Place, member: Uint8Array): Promise<DecodedRecord | undefined> {
    const { name } = await this.#segmentRegistry.get(place.segment);
    const dictionary = name.endsWith('.zst') ? await ifGiven(this.dictionaryOf(place.segment)) : undefined;
    const record = this.#decoder.decode(member, dictionary);
    if (!record || memberHasChecksum(member)) return record;
    const findings = await this.#check.findingsOf(place, name, record);
    return findings.length > 0 ? undefined : record;
  }

  /** For readers of a segment: checks records in members without a checksum. */
  checkOf({ number, name }: Segment): DigestCheck {
    return (head, facts, isComplete) =>
      this.#check.findings({ segment: number, offset: head.offset }, name, head, facts, isComplete);
  }

  /**
   * The heads of the records at these places, without their payloads. Undefined for a record that is damaged or in a
   * missing volume.
   */
  async heads(places: readonly Place[]): Promise<(RecordHead | undefined)[]> {
    const starts: (Uint8Array | undefined)[] = [];
    const segments = await Promise.all(places.map(({ segment }) => this.#segmentRegistry.get(segment)));
    const bySegment = Map.groupBy(places.keys(), (index) => segments[index]!);
    await mapLimited([...bySegment], SEGMENTS_AT_ONCE, async ([segment, indexes]) => {
      const ranges = indexes.map((index) => {
        const { offset, length } = places[index]!;
        return { offset, length: Math.min(length, HEAD_START_BYTES) };
      });
      const read = (await unlessUnreadable(() => this.#stores.get(segment.volume).read(segment, ranges))) ?? [];
      for (const [at, index] of indexes.entries()) starts[index] = read[at];
    });
    const heads: (RecordHead | undefined)[] = [];
    for (const [index, place] of places.entries()) {
      const start = starts[index];
      heads.push((start && this.#decoder.decodeHead(start)) ?? (await unlessUnreadable(() => this.#readHead(place))));
    }
    return heads;
  }

  async #readHead(place: Place): Promise<RecordHead> {
    const { head, payload } = await this.open(place);
    await releasePayload(payload);
    return head;
  }

  /** The dictionary at the beginning of a segment. */
  async dictionaryOf(segmentNumber: number): Promise<Uint8Array | undefined> {
    const segment = await this.#segmentRegistry.get(segmentNumber);
    if (!segment.name.endsWith('.zst')) return undefined;
    if (this.#dictionaries.has(segment.name)) return this.#dictionaries.get(segment.name);
    const store = this.#stores.get(segment.volume);
    const [start] = await store.read(segment, [{ offset: 0, length: 8 }]);
    const view = Buffer.from(start!);
    const size = view.length === 8 && view.readUInt32LE(0) === 0x184d2a5d ? view.readUInt32LE(4) : 0;
    const [frame] = size > 0 ? await store.read(segment, [{ offset: 0, length: 8 + size }]) : [];
    const dictionary = frame && dictionaryOfFile(Buffer.from(frame));
    const found = dictionary instanceof Uint8Array ? dictionary : undefined;
    this.#dictionaries.set(segment.name, found);
    const [oldest] = this.#dictionaries.keys();
    if (this.#dictionaries.size > DICTIONARIES_MAX) this.#dictionaries.delete(oldest!);
    return found;
  }

  /**
   * Whether the archive itself began a segment, according to the warcinfo of the segment. Then every member in it was
   * whole when it was written, unless compaction copied a damaged one. Another writer's file may end in half a record.
   */
  async isOwn(segment: StoredSegment): Promise<boolean> {
    const known = this.#own.get(segment.name);
    if (known !== undefined) return known;
    const isOwn = await this.#beginsAsOwn(segment);
    this.#own.set(segment.name, isOwn);
    return isOwn;
  }

  async #beginsAsOwn(segment: StoredSegment): Promise<boolean> {
    try {
      const { volume, name, bytes } = segment;
      for await (const record of readRecords(this.#stores.get(volume).stream(segment, 0, bytes), { name }))
        return await isOwnBeginning(record, name);
    } catch (error) {
      if (!isBadSector(error)) throw error;
    }
    return false;
  }

  /** The record at a place in pieces, when it is large, damaged, or shares its member. */
  async *records(place: Place, options: RecordsOptions = {}): AsyncGenerator<ReadingRecord> {
    const { offset, length } = place;
    const segment = await this.#segmentRegistry.get(place.segment);
    // Only this record is read. Many records may be read at the same time, each as slowly as its client.
    yield* this.recordsIn(segment, offset, offset + length, { lookBackBytes: 0, ...options });
  }

  /** The records after the one at a place, in the same segment, within this number of bytes. */
  async *recordsBehind({ segment, offset, length }: Place, bytesMax: number): AsyncGenerator<ReadingRecord> {
    const from = offset + length;
    const left = (await this.#segmentRegistry.get(segment)).bytes - from;
    yield* this.records({ segment, offset: from, length: Math.max(0, Math.min(left, bytesMax)) });
  }

  /** The records in a range of a segment. */
  recordsIn(
    segment: Segment,
    from: number,
    end: number,
    { skipsGaps = false, ...options }: RecordsOptions = {},
  ): AsyncGenerator<ReadingRecord> {
    // Another generator in between would delay every record.
    return skipsGaps
      ? this.#recordsAroundGaps(segment, from, end, options)
      : this.#recordsBetween(segment, from, end, options);
  }

  async *#recordsBetween(
    segment: Segment,
    from: number,
    end: number,
    options: RecordsOptions,
  ): AsyncGenerator<ReadingRecord> {
    const stream = this.#stores.get(segment.volume).stream(segment, from, end);
    const reading = this.#readingOf(segment, await ifGiven(this.dictionaryOf(segment.number)), options);
    yield* readRecords(stream, { ...reading, offset: from, inputBytes: end - from });
  }

  async *#recordsAroundGaps(
    segment: Segment,
    from: number,
    end: number,
    options: RecordsOptions,
  ): AsyncGenerator<ReadingRecord> {
    const { name } = segment;
    const dictionary = await ifGiven(this.dictionaryOf(segment.number));
    const reading = this.#readingOf(segment, dictionary, options);
    const isOwn = await this.isOwn(segment);
    const coding = codingOfName(name);
    const lose = (offset: number, code: 'segment-short' | 'segment-unreadable', bytes: number) => {
      const message = `${PROBLEM_CATALOGUE[code].says}: ${bytes} bytes from here on`;
      reading.onUnreadable?.(problemFinding(code, name, offset, message));
    };
    for (let at = from; at < end; ) {
      const bytes = new BytesBeforeGap(this.#stores.get(segment.volume), segment, at, end);
      yield* readRecords(bytes, {
        ...reading,
        offset: at,
        inputBytes: end - at,
        ...(at > from && { coding }),
        onFinding: (finding) => {
          if (isOwn && finding.code === 'padding-skipped') reading.onUnreadable?.(finding);
        },
        // The bytes after a gap are the rest of a record that was reported with the gap.
        onUnreadable: (finding) => {
          if (at === from || finding.offset !== at) reading.onUnreadable?.(finding);
        },
      });
      const { gap, position } = bytes;
      if (gap) lose(gap.from, 'segment-unreadable', gap.to - gap.from);
      else if (position < end) lose(position, 'segment-short', end - position);
      at = gap?.to ?? end;
    }
  }

  /** A record in pieces as they are read. */
  async openStreamed(place: Place): Promise<OpenedRecord> {
    const lost: Finding[] = [];
    const records = this.records(place, {
      onUnreadable: (finding) => lost.push(finding),
      lookBackBytes: lookBackOf(place),
    });
    const first = await records.next();
    if (first.done) throw damageError(await this.absenceAt(place, lost, undefined));
    const record = first.value;
    let held: Uint8Array[] = [];
    const scanner = new BlockScanner(record.head, { onPayload: (bytes) => held.push(Buffer.from(bytes)) });
    const body = record.body();
    let isOver = false;
    const pull = async () => {
      const piece = await body.next();
      if (piece.done) isOver = true;
      else scanner.push(piece.value);
    };
    while (!isOver && !scanner.isHeadKnown) await pull();
    const facts = isOver ? scanner.end() : undefined;
    async function* payload(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          const pieces = held;
          held = [];
          yield* pieces;
          if (isOver) break;
          await pull();
        }
        if (!facts) scanner.end();
        yield* held;
      } finally {
        await records.return(undefined);
      }
    }
    return {
      head: record.head,
      http: facts ? facts.http : scanner.http,
      payload: payload(),
      isSound: false,
      damage: () => (lost.length > 0 ? [...lost, ...record.damage] : record.damage),
    };
  }

  /** The damage of the record at a place, for its reader. Undefined when it is not damaged. */
  async damageAt(place: Place, findings: readonly Finding[], url: string | undefined): Promise<Damage | undefined> {
    return damageOf(await this.#segmentRegistry.get(place.segment), findings, url);
  }

  /** The damage of a record that is completely unreadable. */
  async absenceAt(place: Place, findings: readonly Finding[], url: string | undefined): Promise<Damage> {
    const { volume, name } = await this.#segmentRegistry.get(place.segment);
    const found = findings.length > 0 ? findings : [problemFinding('record-damaged', name, place.offset)];
    return damageOf({ volume, name }, found, url)!;
  }

  #readingOf(segment: Segment, dictionary: Uint8Array | undefined, options: RecordsOptions): ReadOptions {
    const checkDigests = this.checkOf(segment);
    return { ...options, name: segment.name, dictionary: dictionary && Buffer.from(dictionary), checkDigests };
  }
}

/**
 * A small member is kept in memory completely, to read as much of it as possible when it is damaged. Large members are
 * not, since many may be open at the same time.
 */
export function lookBackOf({ length }: Pick<Place, 'length'>): number {
  return length <= WHOLE_BYTES_MAX ? length : 0;
}

function wholeOf({ head, block }: DecodedRecord): WholeRecord {
  const payload: Uint8Array[] = [];
  const scanner = new BlockScanner(head, { onPayload: (bytes) => payload.push(bytes) });
  if (block.length > 0) scanner.push(block);
  const { http } = scanner.end();
  return { head, http, block, payload };
}

export function openedOf({ head, http, payload }: WholeRecord): OpenedRecord {
  return { head, http, payload: once(payload), isSound: true, damage: () => [] };
}

async function* once(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** Releases a payload that will not be read. Otherwise its file would stay open. */
export async function releasePayload(payload: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of payload) break;
}

async function unlessUnreadable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PinakesError) return undefined;
    throw error;
  }
}
