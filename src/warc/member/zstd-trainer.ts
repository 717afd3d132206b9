/**
 * Trains zstd dictionaries: from samples of what will be compressed, picks the pieces of text that most samples share,
 * and derives the entropy tables from how the samples really compress with them.
 *
 * - The pieces are segments of k bytes (see `zstd-segments.ts`). Which k is best depends on the samples; a few are
 *   tried on one part of them and judged by compressing another part that the trial has not seen.
 * - The tables come from the frames that the samples become with the chosen content as a dictionary of raw bytes.
 * - Nothing here is random: the same samples in the same order give the same dictionary with the same zstd library.
 *
 * Memory: the samples that are used are copied once, so at most TRAINING_BYTES_MAX plus some 20 MB of tables and
 * frames. Of more samples an even choice is used, so a caller gains nothing by holding more than that. Of each sample
 * only the first block's worth (128 KiB) is used, since a dictionary hardly serves what comes after it.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { assert, equal, startsWith } from '../../base/index.ts';
import { DICTIONARY_CONTENT_BYTES_MIN, DICTIONARY_MAGIC, formatDictionary } from './zstd-dictionary.ts';
import { SegmentSource } from './zstd-segments.ts';
import { countFrame, emptyStatistics, type ZstdStatistics } from './zstd-statistics.ts';

/** Samples beyond this total are not all used: more crowd the table of mers, and the dictionary becomes no better. */
const TRAINING_BYTES_MAX = 24 * 1024 * 1024;

/** With fewer samples that are not empty, what they share says nothing about what comes. */
export const TRAINING_SAMPLES_MIN = 8;

/** The smallest size to ask for: the tables take some 250 bytes of it. */
export const DICTIONARY_BYTES_MIN = 1024;

export type TrainingOptions = {
  /** The dictionary is never larger; at least DICTIONARY_BYTES_MIN. */
  readonly bytesMax: number;
  /** The dictionary's id; by default one is derived from its bytes, outside the ranges that are registered. */
  readonly id?: number;
  /** The level the dictionary will be used with. */
  readonly level?: number;
};

/** The tables take at least this; what they take beyond it is cut from the beginning of the content. */
const HEADER_BYTES_LEAST = 128;
const SAMPLE_BYTES_MAX = 128 * 1024;
const SEGMENT_BYTES_MIN = 128;
const SEGMENT_BYTES_FIRST = 1024;
const SEGMENT_BYTES_MAX = 4096;
const TRIAL_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Loading a dictionary takes about as long as compressing some ten thousand bytes, so short samples are bounded by
 * their number.
 */
const JUDGED_SAMPLES_MAX = 500;
const COUNTED_SAMPLES_MAX = 1000;
const JUDGED_BYTES_MAX = 2 * 1024 * 1024;
/** The best segment size hardly depends on the level, and the highest levels are slow. */
const JUDGED_LEVEL_MAX = 9;
const COUNTED_BYTES_MAX = 3 * 1024 * 1024;
/** One sample of so many is kept from the trials to judge them. */
const JUDGED_SHARE = 8;

/**
 * A formal dictionary; undefined when there are fewer than TRAINING_SAMPLES_MIN samples, or when what they share does
 * not make samples smaller that the training has not seen.
 */
export function trainDictionary(
  samples: readonly Uint8Array[],
  options: TrainingOptions,
): Uint8Array<ArrayBuffer> | undefined {
  const { bytesMax, id, level = constants.ZSTD_CLEVEL_DEFAULT } = options;
  assert(bytesMax >= DICTIONARY_BYTES_MIN, 'a dictionary has room for its tables and some content');
  const used = evenChoice(
    samples.filter((sample) => sample.length > 0).map((sample) => sample.subarray(0, SAMPLE_BYTES_MAX)),
    TRAINING_BYTES_MAX,
  );
  if (used.length < TRAINING_SAMPLES_MIN) return undefined;
  const contentBytesMax = bytesMax - HEADER_BYTES_LEAST;
  const segmentBytes = bestSegmentBytes(used, contentBytesMax, Math.min(level, JUDGED_LEVEL_MAX));
  if (segmentBytes === undefined) return undefined;
  const content = rawContent(new SegmentSource(used).select(segmentBytes, contentBytesMax));
  if (content === undefined) return undefined;
  const dictionary = formatDictionary(content, statisticsOf(used, content, level), { bytesMax, id });
  const frame = compress(used[0]!, dictionary, level);
  assert(equal(zstdDecompressSync(frame, { dictionary }), used[0]!), 'a dictionary gives back what was made with it');
  return dictionary;
}

/** The segment size that serves unseen samples best, or undefined when none serves. */
function bestSegmentBytes(samples: readonly Uint8Array[], contentBytesMax: number, level: number): number | undefined {
  const isJudged = (index: number) => index % JUDGED_SHARE === JUDGED_SHARE - 1;
  const judged = evenChoice(
    samples.filter((_, index) => isJudged(index)),
    JUDGED_BYTES_MAX,
    JUDGED_SAMPLES_MAX,
  );
  const source = new SegmentSource(
    evenChoice(
      samples.filter((_, index) => !isJudged(index)),
      TRIAL_BYTES_MAX,
    ),
  );
  const judge = (segmentBytes: number): number => {
    const content = rawContent(source.select(segmentBytes, contentBytesMax));
    return content ? compressedBytes(judged, content, level) : Number.POSITIVE_INFINITY;
  };
  let best = SEGMENT_BYTES_FIRST;
  let bestBytes = judge(best);
  // Sizes along the scale first fall and then rise, so the way down leads to the least.
  for (const factor of [2, 0.5]) {
    let better = false;
    for (let tried = best * factor; tried >= SEGMENT_BYTES_MIN && tried <= SEGMENT_BYTES_MAX; tried *= factor) {
      const bytes = judge(tried);
      if (bytes >= bestBytes) break;
      best = tried;
      bestBytes = bytes;
      better = true;
    }
    if (better) break;
  }
  return bestBytes < compressedBytes(judged, undefined, level) ? best : undefined;
}

/** Bytes that zlib takes for a dictionary of raw content: long enough, and not looking like a formal one. */
function rawContent(content: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  if (startsWith(content, DICTIONARY_MAGIC)) content = content.subarray(1);
  return content.length >= DICTIONARY_CONTENT_BYTES_MIN ? content : undefined;
}

function statisticsOf(samples: readonly Uint8Array[], content: Uint8Array, level: number): ZstdStatistics {
  const statistics = emptyStatistics();
  for (const sample of evenChoice(samples, COUNTED_BYTES_MAX, COUNTED_SAMPLES_MAX)) {
    countFrame(statistics, compress(sample, content, level), sample);
  }
  return statistics;
}

function compressedBytes(samples: readonly Uint8Array[], content: Uint8Array | undefined, level: number): number {
  return samples.reduce((sum, sample) => sum + compress(sample, content, level).length, 0);
}

function compress(sample: Uint8Array, dictionary: Uint8Array | undefined, level: number): Buffer {
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  return zstdCompressSync(sample, dictionary ? { params, dictionary } : { params });
}

/** At most `samplesMax` samples of at most `bytesMax` together, evenly spread over all. */
function evenChoice(all: readonly Uint8Array[], bytesMax: number, samplesMax = all.length): readonly Uint8Array[] {
  const step = Math.max(1, Math.ceil(all.length / samplesMax));
  const samples = all.filter((_, index) => index % step === 0);
  const total = samples.reduce((sum, sample) => sum + sample.length, 0);
  if (total <= bytesMax) return samples;
  const share = bytesMax / total;
  let seen = 0;
  let kept = 0;
  return samples.filter((sample) => {
    seen += sample.length;
    if (kept + sample.length > seen * share) return false;
    kept += sample.length;
    return true;
  });
}
