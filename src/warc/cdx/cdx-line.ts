/**
 * Splits a stream of bytes into lines, in batches, with the offset of each line. Index files have millions of lines, so
 * a batch is decoded in one call and then split. The bytes of each line are counted only in batches with bytes beyond
 * ASCII.
 *
 * Line ends are LF or CR LF. A line that is not UTF-8 is read as ISO 8859-1 and reported. A line longer than
 * LINE_BYTES_MAX is left out and reported (I9): memory holds one chunk and one unfinished line.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { concat, fromLatin1, fromUtf8, indexOf, LF, view } from '../../base/index.ts';
import { indexFinding, type ReportFinding } from './cdx-finding.ts';

export const LINE_BYTES_MAX = 4 * 1024 * 1024;

export type LineBatch = {
  readonly lines: readonly string[];
  /** Where each line begins in the stream. */
  readonly offsets: readonly number[];
};

export type LineReadOptions = {
  /** The name of the file in findings. */
  readonly file: string;
  readonly onFinding: ReportFinding;
};

export async function* readLineBatches(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: LineReadOptions,
): AsyncGenerator<LineBatch> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let position = 0;
  let isSkipping = false;
  for await (const chunk of chunks) {
    const lastEnd = view(chunk).lastIndexOf(LF);
    if (lastEnd < 0) {
      position = hold(chunk, position);
      continue;
    }
    const firstEnd = indexOf(chunk, LF);
    let from = 0;
    if (isSkipping) {
      from = firstEnd + 1;
      position += from;
      isSkipping = false;
    }
    if (from <= lastEnd) {
      const whole = chunk.subarray(from, lastEnd + 1);
      const region = heldBytes === 0 ? whole : concat([...held, whole]);
      held = [];
      heldBytes = 0;
      yield decodeBatch(region, position, options);
      position += region.length;
    }
    position = hold(chunk.subarray(lastEnd + 1), position);
  }
  if (heldBytes > 0) yield decodeBatch(concat(held), position, options);

  /**
   * Keeps the beginning of a line for the next chunk, or drops the line when it becomes too long. Returns the position
   * in the stream.
   */
  function hold(bytes: Uint8Array, at: number): number {
    if (isSkipping) return at + bytes.length;
    if (bytes.length === 0) return at;
    // The source may reuse its buffer, so bytes that are kept after the chunk are copied.
    held.push(bytes.slice());
    heldBytes += bytes.length;
    if (heldBytes <= LINE_BYTES_MAX) return at;
    options.onFinding(indexFinding('line-too-long', options.file, at, `more than ${LINE_BYTES_MAX} bytes`));
    const skipped = heldBytes;
    held = [];
    heldBytes = 0;
    isSkipping = true;
    return at + skipped;
  }
}

function decodeBatch(region: Uint8Array, start: number, options: LineReadOptions): LineBatch {
  const end = region[region.length - 1] === LF ? region.length - 1 : region.length;
  const body = end === region.length ? region : region.subarray(0, end);
  const isPlain = isAscii(body);
  if (!isPlain && !isUtf8(body)) return decodeMixed(body, start, options);
  const lines = (isPlain ? fromLatin1(body) : fromUtf8(body)).split('\n');
  const offsets = new Array<number>(lines.length);
  let offset = start;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    offsets[i] = offset;
    offset += (isPlain ? line.length : Buffer.byteLength(line)) + 1;
    if (line.charCodeAt(line.length - 1) === 0x0d) lines[i] = line.slice(0, -1);
  }
  return { lines, offsets };
}

function decodeMixed(body: Uint8Array, start: number, { file, onFinding }: LineReadOptions): LineBatch {
  const lines: string[] = [];
  const offsets: number[] = [];
  for (let from = 0; from <= body.length; ) {
    const found = indexOf(body, LF, from);
    const end = found < 0 ? body.length : found;
    const bytes = body.subarray(from, end);
    const isText = isUtf8(bytes);
    if (!isText) onFinding(indexFinding('line-not-utf8', file, start + from));
    const line = isText ? fromUtf8(bytes) : fromLatin1(bytes);
    lines.push(line.endsWith('\r') ? line.slice(0, -1) : line);
    offsets.push(start + from);
    from = end + 1;
  }
  return { lines, offsets };
}

const BEYOND_ASCII = /[^\x00-\x7f]/;

/**
 * The UTF-8 bytes of a text, as a string with one unit per byte. JavaScript compares strings by UTF-16 units, and index
 * files are in byte order. For strings in this form the two orders are the same.
 */
export function toByteText(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

export function fromByteText(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text;
}
