/** The rules that every walk must follow, whatever the damage (I9, I10). */
import type { BaseInput, PlacedRecord } from './base-input.ts';
import { type Damage, placeAfter } from './mutation.ts';
import { type FoundRecord, sha1Of, type Walked } from './walk.ts';

/** Describes the first fault; undefined when there is none. */
export function judge(base: BaseInput, damages: readonly Damage[], bytes: Buffer, walked: Walked): string | undefined {
  return (
    offsetFault(walked, bytes.length) ?? lossFault(base, damages, walked, bytes.length) ?? silenceFault(base, walked)
  );
}

/** Compares two walks over the same bytes. Only the order of findings may depend on the pieces of the input. */
export function differenceFault(one: Walked, other: Walked): string | undefined {
  const records = one.records.findIndex((record, at) => described(record) !== described(other.records[at]));
  if (records >= 0)
    return `in pieces: ${described(other.records[records])}, at once: ${described(one.records[records])}`;
  if (one.records.length !== other.records.length) return 'in pieces there are more records than at once';
  const [first, second] = [one, other].map(({ findings }) =>
    findings.map(({ code, offset }) => `${code} at ${offset}`).sort(),
  );
  return first!.join() === second!.join() ? undefined : `in pieces: ${second!.join()}; at once: ${first!.join()}`;
}

function described(record: FoundRecord | undefined): string {
  if (!record) return 'none';
  const { head, tail, bodySha1 } = record;
  const text = Buffer.from(head.bytes).toString('latin1');
  return JSON.stringify([head.offset, head.innerOffset, text, tail, bodySha1]);
}

function offsetFault(walked: Walked, fileBytes: number): string | undefined {
  let last = { offset: -1, innerOffset: -1 };
  for (const { head, tail, bodyBytes } of walked.records) {
    const { offset, innerOffset } = head;
    const isLater = offset > last.offset || (offset === last.offset && innerOffset > last.innerOffset);
    if (!isLater) return `the record at ${offset}+${innerOffset} follows that at ${last.offset}+${last.innerOffset}`;
    if (offset < 0 || offset >= fileBytes) return `a record begins at ${offset} of ${fileBytes} bytes`;
    if (tail!.bodyBytes !== bodyBytes) return `a body has ${bodyBytes} bytes, and its tail says ${tail!.bodyBytes}`;
    if (tail!.length !== undefined && (tail!.length <= 0 || offset + tail!.length > fileBytes)) {
      return `the record at ${offset} has length ${tail!.length} in a file of ${fileBytes} bytes`;
    }
    if (tail!.isComplete && head.contentLength !== bodyBytes)
      return `an incomplete record of ${bodyBytes} bytes is marked complete`;
    last = { offset, innerOffset };
  }
  const stray = walked.findings.find(({ offset }) => offset < 0 || offset > fileBytes);
  return stray && `${stray.code} is placed at ${stray.offset} of ${fileBytes} bytes`;
}

/** Undamaged records must be found in their places, complete. */
function lossFault(base: BaseInput, damages: readonly Damage[], walked: Walked, fileBytes: number): string | undefined {
  const found = new Map(walked.records.map((record) => [record.head.offset, record]));
  for (const [index, record] of base.records.entries()) {
    const offset = placeAfter(damages, record.from, record.to);
    if (offset === undefined || !mustSurvive(base, damages, index)) continue;
    const there = found.get(offset);
    if (!there && base.coding === 'none' && isInsideOfLonger(offset, walked, fileBytes)) continue;
    if (!there || !isSame(there, record)) return `the untouched record ${record.id} at ${offset} was lost`;
  }
  return undefined;
}

/**
 * True if another record covers this place, is complete, and ends where the next record begins or the file ends. In an
 * uncompressed file, a changed length that happens to fit cannot be detected.
 */
function isInsideOfLonger(offset: number, walked: Walked, fileBytes: number): boolean {
  return walked.records.some(({ head, tail }, index) => {
    const end = head.offset + tail!.length!;
    return (
      head.offset < offset &&
      offset < end &&
      tail!.isComplete &&
      (walked.records[index + 1]?.head.offset ?? fileBytes) === end
    );
  });
}

/**
 * True if a record must be found. Compressed records are independent. In uncompressed files a record can be lost
 * together with the previous record, because the length of the previous record shows where it begins. Two cases are
 * exempt: records after a damaged dictionary, and files whose beginning now looks like another coding.
 */
function mustSurvive(base: BaseInput, damages: readonly Damage[], index: number): boolean {
  const first = base.records[0]!;
  if (damages.some(({ from }) => from < first.from)) return false;
  const isFirstTouched = placeAfter(damages, first.from, first.to) === undefined;
  if (isFirstTouched && damages.some(({ kind }) => kind === 'splice')) return false;
  if (base.coding !== 'none' || index === 0) return true;
  const before = base.records[index - 1]!;
  return placeAfter(damages, before.from, before.to) !== undefined;
}

function isSame(there: FoundRecord, record: PlacedRecord): boolean {
  const id = there.head.recordId ?? there.head.targetUri;
  return id === record.id && there.bodySha1 === sha1Of(record.block) && there.tail!.isComplete;
}

/** When records are missing, there must be a finding. */
function silenceFault(base: BaseInput, walked: Walked): string | undefined {
  const complete = walked.records.filter(({ tail }) => tail!.isComplete).length;
  const isCutBetweenRecords = walked.findings.length === 0 && walked.records.length === complete;
  if (walked.findings.length > 0 || complete >= base.records.length || isCutBetweenRecords) return undefined;
  return `${base.records.length - complete} records are missing and nothing was reported`;
}
