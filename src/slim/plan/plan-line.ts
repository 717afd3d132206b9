/**
 * The plan for one duplicate: its place, the facts it must match, and the original that its revisit will refer to.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { openToRead } from '../../base/index.ts';

export type PlannedDuplicate = {
  readonly offset: number;
  readonly length: number;
  readonly uri: string;
  readonly date: string;
  /** `algorithm:hex`, as in the manifest. */
  readonly digest: string;
  readonly payloadBytes: number | null;
  readonly original: PlannedOriginal;
};

export type PlannedOriginal = {
  readonly uri: string;
  readonly date: string;
  /** Empty when the record has none. */
  readonly recordId: string;
  readonly digestText: string;
  /** Content codings and chunking, joined; null when the original was not read. */
  readonly codings: string | null;
  /** The path of its file, when the file was read but is not part of the run. */
  readonly path?: string | undefined;
};

const CHUNK_BYTES = 256 * 1024;

/**
 * Reads the duplicates of one file in the order of their offsets, without repetitions, in batches. The plan has them in
 * any order, one per line: `offset TAB JSON LF`. Only the offsets and the places of the lines are held in memory and
 * sorted; each line is then read again.
 */
export function* readPlan(path: string, countMax: number): Generator<PlannedDuplicate[]> {
  const descriptor = openToRead(path);
  try {
    const { offsets, places } = indexOf(descriptor);
    const sorted = Uint32Array.from(offsets.keys()).sort((a, b) => offsets[a]! - offsets[b]!);
    const order = sorted.filter((line, at) => at === 0 || offsets[line] !== offsets[sorted[at - 1]!]);
    for (let at = 0; at < order.length; at += countMax) {
      yield Array.from(order.subarray(at, at + countMax), (line) => readLine(descriptor, places, line));
    }
  } finally {
    closeSync(descriptor);
  }
}

/**
 * The offset of the duplicate of each line, and the place of each line. The places have one more entry, for the end of
 * the file.
 */
function indexOf(descriptor: number): { offsets: Float64Array; places: Float64Array } {
  const { size } = fstatSync(descriptor);
  let offsets = new Float64Array(1024);
  let places = new Float64Array(1025);
  let count = 0;
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let rest = Buffer.alloc(0);
  for (let position = 0; position < size; ) {
    const bytes = readSync(descriptor, chunk, 0, chunk.length, position);
    if (bytes === 0) break;
    const whole = Buffer.concat([rest, chunk.subarray(0, bytes)]);
    const from = position - rest.length;
    let line = 0;
    for (let end = whole.indexOf(0x0a); end >= 0; end = whole.indexOf(0x0a, line)) {
      if (count === offsets.length) {
        offsets = grown(offsets, 2 * count);
        places = grown(places, 2 * count + 1);
      }
      offsets[count] = Number(whole.toString('latin1', line, whole.indexOf(0x09, line)));
      places[count] = from + line;
      count++;
      line = end + 1;
      places[count] = from + line;
    }
    rest = Buffer.from(whole.subarray(line));
    position += bytes;
  }
  return { offsets: offsets.subarray(0, count), places: places.subarray(0, count + 1) };
}

function grown(numbers: Float64Array<ArrayBuffer>, length: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(length);
  larger.set(numbers);
  return larger;
}

function readLine(descriptor: number, places: Float64Array, line: number): PlannedDuplicate {
  const bytes = Buffer.alloc(places[line + 1]! - places[line]!);
  readSync(descriptor, bytes, 0, bytes.length, places[line]!);
  return JSON.parse(bytes.toString('utf8', bytes.indexOf(0x09) + 1)) as PlannedDuplicate;
}
