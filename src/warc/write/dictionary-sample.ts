/** Samples of records to train a dictionary from: text, taken evenly from all files, up to a fixed total. */
import type { Coding } from '../member/file-coding.ts';
import { trainDictionary } from '../member/zstd-trainer.ts';
import { type ReadingRecord, readRecords } from '../read/record-reader.ts';

const SAMPLE_BYTES_TOTAL = 16 * 1024 * 1024;
const SAMPLE_BYTES_MAX = 64 * 1024;
const PLACES_PER_FILE = 16;
/** For smaller input a dictionary costs more than it saves. */
const INPUT_BYTES_MIN = 128 * 1024;
const DICTIONARY_BYTES_MAX = 112_640;
const DICTIONARY_BYTES_LEAST = 16 * 1024;
/** A dictionary may take this share of the input. */
const DICTIONARY_SHARE = 0.02;

/** A file, or another source of records with this name. A source has a coding, and can be opened at any offset. */
export type SampledFile = {
  readonly path: string;
  readonly bytes: number;
  readonly source?: { readonly coding: Coding; readonly open: (offset: number) => AsyncIterable<Uint8Array> };
};

/** A dictionary for these files; undefined when they are too small or too different for one. */
export async function dictionaryFor(files: readonly SampledFile[], level?: number): Promise<Uint8Array | undefined> {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  if (total < INPUT_BYTES_MIN) return undefined;
  const samples: Uint8Array[] = [];
  for (const file of files) {
    const share = (SAMPLE_BYTES_TOTAL * file.bytes) / total;
    await sampleFile(file, share, samples);
  }
  const bytesMax = Math.max(
    DICTIONARY_BYTES_LEAST,
    Math.min(DICTIONARY_BYTES_MAX, Math.floor(total * DICTIONARY_SHARE)),
  );
  return trainDictionary(samples, { bytesMax, ...(level !== undefined && { level }) });
}

async function sampleFile(file: SampledFile, bytesWanted: number, samples: Uint8Array[]): Promise<void> {
  const places = Math.max(1, Math.min(PLACES_PER_FILE, Math.floor(file.bytes / (256 * 1024))));
  for (let place = 0; place < places; place++) {
    let left = bytesWanted / places;
    const offset = Math.floor((file.bytes * place) / places);
    const source = file.source?.open(offset) ?? file.path;
    for await (const record of readRecords(source, { name: file.path, offset, coding: file.source?.coding })) {
      const sample = await readSample(record);
      if (!isText(sample)) continue;
      samples.push(sample);
      left -= sample.length;
      if (left <= 0) break;
    }
  }
}

/** A dictionary learns nothing from compressed data, for example images. Compressed data has many control bytes. */
function isText(sample: Uint8Array): boolean {
  let controls = 0;
  for (const byte of sample) if (byte < 0x09 || (byte > 0x0d && byte < 0x20)) controls++;
  return controls * 100 < sample.length;
}

async function readSample(record: ReadingRecord): Promise<Uint8Array> {
  const parts: Uint8Array[] = [record.head.bytes];
  let length = record.head.bytes.length;
  for await (const piece of record.body()) {
    const part = Buffer.from(piece.subarray(0, SAMPLE_BYTES_MAX - length));
    parts.push(part);
    length += part.length;
    if (length >= SAMPLE_BYTES_MAX) break;
  }
  return Buffer.concat(parts);
}
