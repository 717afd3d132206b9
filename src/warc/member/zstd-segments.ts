/**
 * Chooses the segments of samples that are worth keeping in a dictionary, after the COVER idea (Liao, Petri, Moffat,
 * Wirth: "Effective construction of relative Lempel-Ziv dictionaries", 2016).
 *
 * A *mer* is any run of MER_BYTES bytes. Its worth is the number of samples that contain it, minus one. Repetitions
 * within one sample do not count, because a frame finds those without a dictionary. The score of a segment is the sum
 * of the worths of its distinct mers. The samples are cut into as many epochs as segments are wanted. Each epoch gives
 * its best segment, whose mers are worth nothing afterwards. Rounds are repeated until the content is full or no mer of
 * worth is left.
 *
 * Worths are kept in a table by hash. Two mers with the same hash count as one, which makes scores slightly less exact
 * and bounds the memory.
 */
import { assert } from '../../base/index.ts';

const MER_BYTES = 8;
const HASH_BITS = 19;
/**
 * Mers whose hash has this bit are ignored, both in counting and in choosing: half of the mers give the same result in
 * less time.
 */
const PASSED_OVER = 1;
/**
 * The upper bits of a slot hold the worth. The lower bits hold how often the mer occurs in the current window over the
 * samples.
 */
const WORTH_SHIFT = 16;
const WORTH_ONE = 2 ** WORTH_SHIFT;
const COUNT_MASK = WORTH_ONE - 1;
const WORTH_MAX = WORTH_ONE * COUNT_MASK;
/** A window has fewer mers than this, so that their number never overflows into the worth. */
const SEGMENT_BYTES_MAX = COUNT_MASK;
/** An epoch is at least this many segments long, so that there is a choice. */
const EPOCH_SEGMENTS_MIN = 10;
/** After many passes, segments have only a few bytes. More passes would take hours and gain nothing. */
const PASSES_MAX = 24;

type Segment = { readonly start: number; readonly end: number; readonly score: number };

/** The mers of worth in the window, as a ring: where they start, and their slots. */
type MerWindow = { readonly places: Int32Array; readonly slots: Int32Array };

export class SegmentSource {
  #bytes: Uint8Array;
  #worths: Uint32Array;

  constructor(samples: readonly Uint8Array[]) {
    let total = 0;
    for (const sample of samples) total += sample.length;
    this.#bytes = new Uint8Array(total);
    this.#worths = new Uint32Array(2 ** HASH_BITS);
    const lastSample = new Int32Array(2 ** HASH_BITS).fill(-1);
    let at = 0;
    for (const [index, sample] of samples.entries()) {
      this.#bytes.set(sample, at);
      countMers(this.#bytes, at, at + sample.length, index, this.#worths, lastSample);
      at += sample.length;
    }
  }

  /** Segments of about `segmentBytes`, together at most `contentBytesMax`. The best ones are at the end. */
  select(segmentBytes: number, contentBytesMax: number): Uint8Array<ArrayBuffer> {
    assert(segmentBytes >= MER_BYTES && segmentBytes <= SEGMENT_BYTES_MAX, 'a segment has mers, and not too many');
    const worths = this.#worths.slice();
    const ringLength = 2 ** Math.ceil(Math.log2(segmentBytes + 1));
    const window = { places: new Int32Array(ringLength), slots: new Int32Array(ringLength) };
    const segments: Segment[] = [];
    const epochs = this.#epochs(segmentBytes, contentBytesMax);
    let room = contentBytesMax;
    let fruitless = 0;
    const roundsMax = PASSES_MAX * epochs.length;
    for (let round = 0; round < roundsMax && room >= MER_BYTES && fruitless < epochs.length; round++) {
      const [start, end] = epochs[round % epochs.length]!;
      const best = bestSegment(this.#bytes, start, end, Math.min(segmentBytes, room), worths, window);
      if (best === undefined) {
        fruitless++;
        continue;
      }
      fruitless = 0;
      segments.push(best);
      room -= best.end - best.start;
    }
    return this.#join(segments);
  }

  #epochs(segmentBytes: number, contentBytesMax: number): (readonly [number, number])[] {
    const total = this.#bytes.length;
    const wanted = Math.floor(contentBytesMax / segmentBytes);
    const most = Math.floor(total / (segmentBytes * EPOCH_SEGMENTS_MIN));
    const count = Math.max(1, Math.min(wanted, most));
    return Array.from({ length: count }, (_, i) => [
      Math.floor((total * i) / count),
      Math.floor((total * (i + 1)) / count),
    ]);
  }

  #join(segments: readonly Segment[]): Uint8Array<ArrayBuffer> {
    const ordered = segments.toSorted((a, b) => a.score - b.score);
    const content = new Uint8Array(ordered.reduce((sum, segment) => sum + segment.end - segment.start, 0));
    let at = 0;
    for (const { start, end } of ordered) {
      content.set(this.#bytes.subarray(start, end), at);
      at += end - start;
    }
    return content;
  }
}

/**
 * The hash of a mer, which is given as two words of 32 bits. Its highest bits are the slot of the mer. Shifting both
 * words is cheaper than reading eight bytes at each place.
 */
function hashOf(low: number, high: number): number {
  const mixed = Math.imul(low, 0x9e3779b1) ^ Math.imul(high ^ (low >>> 15), 0x85ebca77);
  return mixed ^ (mixed >>> 16);
}

function slotOf(hash: number): number {
  return hash >>> (32 - HASH_BITS);
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

function countMers(
  bytes: Uint8Array,
  start: number,
  end: number,
  sample: number,
  worths: Uint32Array,
  lastSample: Int32Array,
): void {
  if (end - start < MER_BYTES) return;
  let low = wordAt(bytes, start);
  let high = wordAt(bytes, start + 4);
  for (let next = start + MER_BYTES; ; next++) {
    const hash = hashOf(low, high);
    if ((hash & PASSED_OVER) === 0) {
      const slot = slotOf(hash);
      const last = lastSample[slot]!;
      if (last !== sample) {
        lastSample[slot] = sample;
        if (last >= 0 && worths[slot]! < WORTH_MAX) worths[slot]! += WORTH_ONE;
      }
    }
    if (next >= end) return;
    low = (low >>> 8) | (high << 24);
    high = (high >>> 8) | (bytes[next]! << 24);
  }
}

/**
 * The segment with the highest score between two places, from its first mer of worth to its last. Its mers become
 * worthless.
 */
function bestSegment(
  bytes: Uint8Array,
  start: number,
  end: number,
  segmentBytes: number,
  worths: Uint32Array,
  window: MerWindow,
): Segment | undefined {
  if (end - start < MER_BYTES) return undefined;
  const { slots, places } = window;
  const mask = slots.length - 1;
  let head = 0;
  let tail = 0;
  let low = wordAt(bytes, start);
  let high = wordAt(bytes, start + 4);
  let score = 0;
  let bestScore = 0;
  let bestStart = start;
  let bestEnd = start;
  for (let next = start + MER_BYTES; ; next++) {
    const hash = hashOf(low, high);
    const slot = slotOf(hash);
    if ((hash & PASSED_OVER) === 0 && worths[slot]! >= WORTH_ONE) {
      while (tail !== head && places[tail & mask]! < next - segmentBytes) {
        const rest = --worths[slots[tail & mask]!]!;
        if ((rest & COUNT_MASK) === 0) score -= rest >>> WORTH_SHIFT;
        tail++;
      }
      const before = worths[slot]!++;
      if ((before & COUNT_MASK) === 0) score += before >>> WORTH_SHIFT;
      places[head & mask] = next - MER_BYTES;
      slots[head & mask] = slot;
      head++;
      if (score > bestScore) {
        bestScore = score;
        bestStart = places[tail & mask]!;
        bestEnd = next;
      }
    }
    if (next >= end) break;
    low = (low >>> 8) | (high << 24);
    high = (high >>> 8) | (bytes[next]! << 24);
  }
  for (; tail !== head; tail++) worths[slots[tail & mask]!]!--;
  if (bestScore === 0) return undefined;
  for (let at = bestStart; at + MER_BYTES <= bestEnd; at++) {
    const hash = hashOf(wordAt(bytes, at), wordAt(bytes, at + 4));
    if ((hash & PASSED_OVER) === 0) worths[slotOf(hash)] = 0;
  }
  return { start: bestStart, end: bestEnd, score: bestScore };
}
