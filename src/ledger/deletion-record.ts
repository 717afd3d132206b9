/**
 * The record of a deletion (D1, D2): one `metadata` record for each commit that deletes, in a segment of the deleter's
 * own. It lists marks and never places, so it stays true through compaction and rebuilds. It is kept for good.
 *
 * ```
 *   WARC-Target-URI: urn:pinakes:deletion
 *   Content-Type: application/json
 *   {"deletion":1,"time":"<date>","request":"<id>","marks":["<base64url>",...]
 *    [,"bars":[{"content":"sha256:<hex>"},{"url":"<URL key>"},...]]
 *    [,"collection":{"name":"<name>","snapshot":{"before":n,"open":[...]}}]}
 * ```
 * With `collection`, all captures of that collection in the snapshot are deleted, and no marks are needed.
 *
 * A record that cannot be understood completely is a problem to report, since captures that were deleted would come
 * back if it were passed over: also one of a later version, and one with a field that this version does not know.
 */
import { assert, type EpochMs, formatDigest, fromUtf8, parseDigest, parseW3cDate, utf8 } from '../base/index.ts';
import type { Bar, Mark, Segment } from '../catalog/index.ts';
import type { UrlKey } from '../url/index.ts';
import type { NewRecord, RecordHead } from '../warc/index.ts';
import { MARK_BYTES } from './mark.ts';
import { parseBounds, type SnapshotBounds } from './snapshot-bounds.ts';

export const DELETION_URI = 'urn:pinakes:deletion';
/** The folder of the segments with deletion records. */
export const DELETION_FOLDER = '_deletions/';

export function isDeletionSegment({ name }: Pick<Segment, 'name'>): boolean {
  return name.startsWith(DELETION_FOLDER);
}

/** A commit deletes at most so many captures. A revisit has two marks. */
export const DELETED_AT_ONCE_MAX = 2000;
const MARKS_MAX = 2 * DELETED_AT_ONCE_MAX;
/** A takedown bars at most so many contents and URLs. */
export const BARS_MAX = 2000;
/** A larger block is not read. */
export const DELETION_BYTES_MAX = 16 * 1024 * 1024;

export type Deletion = {
  /** When it was asked for, as W3C date. */
  readonly time: string;
  /** The id that the client gave to its request, by which it may ask again. */
  readonly request: string;
  readonly marks: readonly Mark[];
  readonly bars: readonly Bar[];
  readonly collection?: { readonly name: string; readonly snapshot: SnapshotBounds } | undefined;
};

/** A deletion, or why it cannot be read. */
export type ParsedDeletion =
  | { readonly deletion: Deletion; readonly problem?: undefined }
  | { readonly deletion?: undefined; readonly problem: string };

export function isDeletionRecord(head: Pick<RecordHead, 'type' | 'targetUri'>): boolean {
  return head.type === 'metadata' && head.targetUri === DELETION_URI;
}

/** The record of a deletion, and its block. */
export function deletionRecord(deletion: Deletion, recordId: string): { record: NewRecord; block: Uint8Array } {
  const { time, request, marks, bars, collection } = deletion;
  assert(marks.length <= MARKS_MAX && bars.length <= BARS_MAX, 'a deletion fits into one record');
  assert(marks.length + bars.length > 0 || collection, 'a deletion deletes something');
  assert(parseW3cDate(time) !== undefined, 'the time of a deletion is a date');
  const block = utf8(
    JSON.stringify({
      deletion: 1,
      time,
      request,
      marks: marks.map((mark) => Buffer.from(mark).toString('base64url')),
      ...(bars.length > 0 && { bars: bars.map(formatBar) }),
      ...(collection && { collection }),
    }),
  );
  assert(block.length <= DELETION_BYTES_MAX, 'a deletion fits into one record');
  const record = {
    type: 'metadata',
    recordId,
    date: time,
    targetUri: DELETION_URI,
    contentType: 'application/json',
  } as const;
  return { record, block };
}

function formatBar(bar: Bar): Record<string, string> {
  return bar.kind === 'url'
    ? { url: bar.urlKey }
    : { content: formatDigest({ algorithm: 'sha256', bytes: bar.digest }) };
}

/** The block of a deletion record. */
export function parseDeletion(block: Uint8Array): ParsedDeletion {
  const value = jsonOf(block);
  if (!isObject(value)) return { problem: 'it is not a JSON object' };
  const { deletion: version, time, request, marks: markTexts, bars: barValues = [], collection, ...others } = value;
  if (version !== 1) return { problem: `it has the version ${JSON.stringify(version)}, which is not known` };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return { problem: `the field ${JSON.stringify(unknown)} is not known` };
  if (typeof time !== 'string' || parseW3cDate(time) === undefined) return { problem: 'its time is not a date' };
  if (typeof request !== 'string') return { problem: 'it does not name its request' };
  const marks = parseAll(markTexts, parseMark);
  if (!marks || marks.length > MARKS_MAX) return { problem: 'its marks cannot be read' };
  const bars = parseAll(barValues, parseBar);
  if (!bars || bars.length > BARS_MAX) return { problem: 'its bars cannot be read' };
  const parsed = collection === undefined ? undefined : parseCollection(collection);
  if (collection !== undefined && !parsed) return { problem: 'the collection that it deletes cannot be read' };
  if (marks.length + bars.length === 0 && !parsed) return { problem: 'it deletes nothing' };
  return { deletion: { time, request, marks, bars, ...(parsed && { collection: parsed }) } };
}

export function timeOfDeletion({ time }: Deletion): EpochMs {
  return parseW3cDate(time)!;
}

function parseAll<Item>(values: unknown, parse: (value: unknown) => Item | undefined): Item[] | undefined {
  if (!Array.isArray(values)) return undefined;
  const items = values.map(parse).filter((item) => item !== undefined);
  return items.length === values.length ? items : undefined;
}

/** Base64url has one spelling here, so a text that decodes and is written otherwise is damaged too. */
function parseMark(value: unknown): Mark | undefined {
  if (typeof value !== 'string') return undefined;
  const mark = Buffer.from(value, 'base64url');
  return mark.length === MARK_BYTES && mark.toString('base64url') === value ? Uint8Array.from(mark) : undefined;
}

function parseBar(value: unknown): Bar | undefined {
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined;
  const { content, url } = value;
  if (typeof url === 'string' && url !== '') return { kind: 'url', urlKey: url as UrlKey };
  const digest = typeof content === 'string' ? parseDigest(content) : undefined;
  return digest?.algorithm === 'sha256' ? { kind: 'content', digest: digest.bytes } : undefined;
}

function parseCollection(value: unknown): Deletion['collection'] {
  if (!isObject(value) || Object.keys(value).length !== 2) return undefined;
  const { name, snapshot } = value;
  const bounds = parseBounds(snapshot);
  return typeof name === 'string' && name !== '' && bounds ? { name, snapshot: bounds } : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(fromUtf8(bytes));
  } catch {
    return undefined;
  }
}
