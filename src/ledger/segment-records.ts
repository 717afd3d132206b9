/**
 * The records of one of our own segments, read from its bytes, with what the archive wrote for itself: the warcinfo
 * record at the beginning, deletion records, runs.
 *
 * Only whole records are returned. A record without an end of its own is left out, and so is the last record of an open
 * segment if its member lacks its last bytes. Damage is reported as findings (I10). A record with a wrong checksum is
 * returned, since nothing readable is dropped.
 */
import { type Finding, fromUtf8, PinakesError } from '../base/index.ts';
import {
  BlockScanner,
  dictionaryOfFile,
  digestMismatches,
  type ReadingRecord,
  readRecords,
  verdictScanOptions,
  warcFinding,
} from '../warc/index.ts';
import {
  DELETION_BYTES_MAX,
  isDeletionRecord,
  isDeletionSegment,
  type ParsedDeletion,
  parseDeletion,
} from './deletion-record.ts';
import { factsOfRecord, type RecordFacts } from './record-facts.ts';
import { isRunsRecord, RUNS_BYTES_MAX, Runs } from './runs.ts';
import type { SegmentBytes, SegmentStore } from './segment-store.ts';
import { type ParsedOrigin, parseOrigin } from './warcinfo-fields.ts';

/** Larger warcinfo records are not read. The archive's own are far smaller. */
const WARCINFO_BYTES_MAX = 64 * 1024;
const DICTIONARY_BYTES_MAX = 8 * 1024 * 1024;

/** What the first record of a segment says of the segment. */
export type SegmentOriginRecord = ParsedOrigin & {
  /** WARC-Filename: the last part of the name under which the segment was begun. */
  readonly filename: string;
};

export type SegmentRecord = {
  /** With a length: the record has a member of its own. */
  readonly facts: RecordFacts & { readonly length: number };
  readonly deletion?: ParsedDeletion | undefined;
  readonly runs?: Runs | undefined;
  readonly origin?: SegmentOriginRecord | undefined;
};

export type SegmentReading = {
  readonly onFinding?: ((finding: Finding) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** The whole records of a segment that begin at `from` or later and end at `to` or earlier. */
export async function* segmentRecords(
  store: SegmentStore,
  segment: SegmentBytes,
  from: number,
  to: number,
  { onFinding, signal }: SegmentReading = {},
): AsyncGenerator<SegmentRecord> {
  if (from >= to) return;
  const torn = new Set<number>();
  const records = readRecords(store.stream(segment, from, to), {
    name: segment.name,
    offset: from,
    inputBytes: to - from,
    dictionary: from > 0 ? await dictionaryOf(store, segment) : undefined,
    onFinding: (finding) => {
      if (finding.code === 'member-truncated' && segment.state !== 'sealed') torn.add(finding.offset);
      onFinding?.(finding);
    },
    signal,
  });
  // The reader reports a torn member when the next record is requested, so each record is returned one record later.
  let waiting: SegmentRecord | undefined;
  for await (const record of records) {
    if (waiting) yield waiting;
    waiting = await readWhole(record, segment.name, onFinding);
  }
  // Damage earlier in the segment can look like a torn member too. It is not a reason to leave out a whole record.
  if (waiting && !torn.has(waiting.facts.offset)) yield waiting;
}

/** Undefined: the record is not whole. */
async function readWhole(
  record: ReadingRecord,
  name: string,
  onFinding: SegmentReading['onFinding'],
): Promise<SegmentRecord | undefined> {
  const kept = keptKind(record, name);
  const keptMax = kept === undefined ? 0 : KEPT_BYTES_MAX[kept];
  const block: Uint8Array[] = [];
  let blockBytes = 0;
  const onPiece = (piece: Uint8Array) => {
    blockBytes += piece.length;
    if (blockBytes <= keptMax) block.push(Uint8Array.from(piece));
  };
  const { facts: read, isComplete } = await readFacts(record, name, onFinding, onPiece);
  const { length } = read;
  if (!isComplete || length === undefined) return undefined;
  const facts = Object.assign(read, { length });
  const whole = blockBytes <= keptMax ? Buffer.concat(block) : undefined;
  switch (kept) {
    case 'deletion':
      return { facts, deletion: whole ? parseDeletion(whole) : { problem: 'it is too large to be read' } };
    case 'runs':
      return { facts, runs: whole && Runs.parse(whole) };
    case 'origin':
      return { facts, origin: whole && originOf(record, whole) };
    default:
      return { facts };
  }
}

/** Reads a record to its end. `onPiece` gets its block. */
export async function readFacts(
  record: ReadingRecord,
  name: string,
  onFinding: SegmentReading['onFinding'],
  onPiece?: (piece: Uint8Array) => void,
): Promise<{ readonly facts: RecordFacts; readonly isComplete: boolean }> {
  const { head } = record;
  const isChecked = !record.isCompressed || record.hasChecksum;
  const scanner = new BlockScanner(head, isChecked ? { payload: ['sha256'] } : verdictScanOptions(head, ['sha256']));
  for await (const piece of record.body()) {
    scanner.push(piece);
    onPiece?.(piece);
  }
  const scanned = scanner.end();
  const isComplete = record.tail?.isComplete ?? false;
  // A damaged content is entered under the digest of its damaged bytes, so nothing would show the damage later.
  if (!isChecked && onFinding)
    for (const code of digestMismatches(head, scanned, isComplete)) onFinding(warcFinding(code, name, head.offset));
  const payloadDigests = scanned.payloadDigests.filter(({ algorithm }) => algorithm === 'sha256');
  return { facts: factsOfRecord(head, { ...scanned, payloadDigests }, record.tail?.length, isComplete), isComplete };
}

/** The blocks that are kept: those of the few kinds of records that the archive writes for itself. */
const KEPT_BYTES_MAX = { deletion: DELETION_BYTES_MAX, runs: RUNS_BYTES_MAX, origin: WARCINFO_BYTES_MAX };

function keptKind({ head }: ReadingRecord, name: string): keyof typeof KEPT_BYTES_MAX | undefined {
  // A file of others deletes nothing.
  if (isDeletionRecord(head)) return isDeletionSegment({ name }) ? 'deletion' : undefined;
  if (isRunsRecord(head)) return 'runs';
  return head.type === 'warcinfo' ? 'origin' : undefined;
}

function originOf({ head }: ReadingRecord, block: Uint8Array): SegmentOriginRecord {
  return { ...parseOrigin(fromUtf8(block)), filename: head.get('warc-filename') ?? '' };
}

/** What the first record says of a segment, if it is a warcinfo record that can be read. */
export async function readOrigin(
  store: SegmentStore,
  segment: SegmentBytes,
  bytes: number,
): Promise<SegmentOriginRecord | undefined> {
  if (bytes === 0) return undefined;
  const options = { name: segment.name, inputBytes: bytes };
  for await (const record of readRecords(store.stream(segment, 0, bytes), options)) {
    const { type, contentLength = Number.POSITIVE_INFINITY } = record.head;
    if (type !== 'warcinfo' || contentLength > WARCINFO_BYTES_MAX) return undefined;
    try {
      return originOf(record, await record.bytes(WARCINFO_BYTES_MAX));
    } catch (error) {
      if (error instanceof PinakesError && !error.retryable) return undefined;
      throw error;
    }
  }
  return undefined;
}

/** The dictionary at the beginning of a segment, for reading from a later offset on. */
async function dictionaryOf(store: SegmentStore, segment: SegmentBytes): Promise<Buffer | undefined> {
  if (!segment.name.endsWith('.zst')) return undefined;
  for (let length = 64 * 1024; length <= DICTIONARY_BYTES_MAX; length *= 4) {
    const [start] = await store.read(segment, [{ offset: 0, length }]);
    const found = dictionaryOfFile(Buffer.from(start!));
    if (found !== 'short') return found;
  }
  return undefined;
}
