/** What is to be done with one duplicate: where it lies, what it must prove to be, and what its revisit will point at. One JSON text a line. */
import { closeSync, openSync, readSync } from 'node:fs';
import { fileError } from '../base/index.ts';

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
  /** Content codings, joined; null when nobody looked. */
  readonly codings: string | null;
};

const CHUNK_BYTES = 256 * 1024;

/** The duplicates of a plan file, in their order, a few at a time. */
export function* readPlan(path: string, countMax: number): Generator<PlannedDuplicate[]> {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (cause) {
    throw fileError(cause, path);
  }
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let rest = Buffer.alloc(0);
    let batch: PlannedDuplicate[] = [];
    for (;;) {
      const bytes = readSync(descriptor, chunk, 0, chunk.length, null);
      if (bytes === 0) break;
      const whole = Buffer.concat([rest, chunk.subarray(0, bytes)]);
      const end = whole.lastIndexOf(0x0a) + 1;
      rest = Buffer.from(whole.subarray(end));
      for (const line of whole.toString('utf8', 0, end).split('\n')) {
        if (line === '') continue;
        batch.push(JSON.parse(line) as PlannedDuplicate);
        if (batch.length < countMax) continue;
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
  } finally {
    closeSync(descriptor);
  }
}
