/** What must hold of every walk, whatever the damage (I9, I10). */
import type { BaseInput, PlacedRecord } from './base-input.ts';
import { type Damage, placeAfter } from './mutation.ts';
import { type FoundRecord, sha1Of, type Walked } from './walk.ts';

/** The first thing that is wrong, in words; undefined when nothing is. */
export function judge(base: BaseInput, damages: readonly Damage[], bytes: Buffer, walked: Walked): string | undefined {
  return (
    offsetFault(walked, bytes.length) ?? lossFault(base, damages, walked, bytes.length) ?? silenceFault(base, walked)
  );
}

/** What was found may not depend on the pieces in which the input came; only the order of findings may. */
export function differenceFault(one: Walked, other: Walked): string | undefined {
  const records = one.records.findIndex((record, at) => told(record) !== told(other.records[at]));
  if (records >= 0) return `in pieces: ${told(other.records[records])}, at once: ${told(one.records[records])}`;
  if (one.records.length !== other.records.length) return 'in pieces there are more records than at once';
  const [first, second] = [one, other].map(({ findings }) =>
    findings.map(({ code, offset }) => `${code} at ${offset}`).sort(),
  );
  return first!.join() === second!.join() ? undefined : `in pieces: ${second!.join()}; at once: ${first!.join()}`;
}

function told(record: FoundRecord | undefined): string {
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
    if (tail!.bodyBytes !== bodyBytes) return `${bodyBytes} bytes came, ${tail!.bodyBytes} were told of`;
    if (tail!.length !== undefined && (tail!.length <= 0 || offset + tail!.length > fileBytes)) {
      return `the record at ${offset} has length ${tail!.length} in a file of ${fileBytes} bytes`;
    }
    if (tail!.complete && head.contentLength !== bodyBytes) return `a record of ${bodyBytes} bytes is called complete`;
    last = { offset, innerOffset };
  }
  const stray = walked.findings.find(({ offset }) => offset < 0 || offset > fileBytes);
  return stray && `${stray.code} is placed at ${stray.offset} of ${fileBytes} bytes`;
}

/** Records that no damage touched must be found where they lie, whole. */
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
 * Whether a record goes over this place that is as long as it says and ends where another begins, or the file ends. In
 * a plain file nothing shows that its length was changed to one that happens to fit.
 */
function isInsideOfLonger(offset: number, walked: Walked, fileBytes: number): boolean {
  return walked.records.some(({ head, tail }, index) => {
    const end = head.offset + tail!.length!;
    return (
      head.offset < offset &&
      offset < end &&
      tail!.complete &&
      (walked.records[index + 1]?.head.offset ?? fileBytes) === end
    );
  });
}

/**
 * Compressed records stand alone. In plain files a record can be lost with the one before it, because only that one
 * says where it begins. Not asked for is what lies behind a damaged dictionary, and anything in a file that was made to
 * begin like one of another coding.
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
  return id === record.id && there.bodySha1 === sha1Of(record.block) && there.tail!.complete;
}

/** Loss is never silent: where fewer records are found than there were, something was told of. */
function silenceFault(base: BaseInput, walked: Walked): string | undefined {
  const complete = walked.records.filter(({ tail }) => tail!.complete).length;
  const isCutBetweenRecords = walked.findings.length === 0 && walked.records.length === complete;
  if (walked.findings.length > 0 || complete >= base.records.length || isCutBetweenRecords) return undefined;
  return `${base.records.length - complete} records are gone and nothing was told of`;
}
