/**
 * Trains zstd dictionaries from samples of the data that will be compressed: picks the pieces of text that most samples
 * share, and derives the entropy tables from compressing the samples with them.
 *
 * - The pieces are segments of k bytes (see `zstd-segments.ts`). The best k depends on the samples. A few values are
 *   tried on one part of the samples, and judged by compressing another part that was not used for the trial.
 * - The tables are derived from frames: the samples are compressed with the chosen content as a raw dictionary.
 * - Nothing here is random: the same samples in the same order give the same dictionary with the same zstd library.
 *
 * Memory: the used samples are copied once, so at most TRAINING_BYTES_MAX plus about 20 MB of tables and frames. When
 * there are more samples, an even selection is used, so a caller gains nothing by passing more. Only the first 128 KiB
 * of each sample are used, which is one block, because a dictionary hardly helps after the first block.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { assert, equal, startsWith } from '../../base/index.ts';
import { DICTIONARY_CONTENT_BYTES_MIN, DICTIONARY_MAGIC, formatDictionary } from './zstd-dictionary.ts';
import { SegmentSource } from './zstd-segments.ts';
import { countFrame, emptyStatistics, type ZstdStatistics } from './zstd-statistics.ts';

/**
 * When the samples are larger than this in total, a selection is used: more samples fill up the table of mers, and the
 * dictionary becomes no better.
 */
const TRAINING_BYTES_MAX = 24 * 1024 * 1024;

/** With fewer non-empty samples, the text that they share says nothing about other data. */
export const TRAINING_SAMPLES_MIN = 8;

/** The smallest possible size: the tables take about 250 bytes of it. */
export const DICTIONARY_BYTES_MIN = 1024;

export type TrainingOptions = {
  /** Largest size of the dictionary; at least DICTIONARY_BYTES_MIN. */
  readonly bytesMax: number;
  /** The dictionary's id. By default it is derived from the bytes, and outside the registered ranges. */
  readonly id?: number;
  /** The compression level that the dictionary will be used with. */
  readonly level?: number;
};

/** The smallest size of the tables. When the tables are larger, the content is cut at its beginning. */
const HEADER_BYTES_LEAST = 128;
const SAMPLE_BYTES_MAX = 128 * 1024;
const SEGMENT_BYTES_MIN = 128;
const SEGMENT_BYTES_FIRST = 1024;
const SEGMENT_BYTES_MAX = 4096;
const TRIAL_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Loading a dictionary takes about as long as compressing ten thousand bytes, so the number of short samples is
 * bounded.
 */
const JUDGED_SAMPLES_MAX = 500;
const COUNTED_SAMPLES_MAX = 1000;
const JUDGED_BYTES_MAX = 2 * 1024 * 1024;
/** The best segment size hardly depends on the level, and the highest levels are slow. */
const JUDGED_LEVEL_MAX = 9;
const COUNTED_BYTES_MAX = 3 * 1024 * 1024;
/** One sample in this many is set aside to judge the trials. */
const JUDGED_SHARE = 8;

/**
 * Returns a formal dictionary; undefined when there are fewer than TRAINING_SAMPLES_MIN samples, or when the dictionary
 * does not make unseen samples smaller.
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
  assert(equal(zstdDecompressSync(frame, { dictionary }), used[0]!), 'a frame made with a dictionary decodes with it');
  return dictionary;
}

/** The segment size that makes unseen samples smallest; undefined when none makes them smaller. */
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
  // With growing segments, the compressed size first falls and then rises. Following the fall leads to the minimum.
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

/**
 * Bytes that zlib accepts as a dictionary of raw content: long enough, and without the magic number of a formal
 * dictionary.
 */
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

/** At most `samplesMax` samples of together at most `bytesMax`, evenly spread over all samples. */
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
