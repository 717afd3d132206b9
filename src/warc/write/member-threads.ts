/**
 * Puts many records into gzip members on a separate thread. Compressing is the largest cost of writing small records,
 * and the writer has other work to do in the meantime. The members are equal to members that a `MemberEncoder` makes
 * from records in one piece.
 */
import { ThreadPool } from '../../base/index.ts';
import {
  type MemberBatch,
  packRecords,
  type RecordBatch,
  type UnencodedRecord,
  unpackMembers,
} from './member-batch.ts';

export class MemberThreads {
  readonly #threads = new ThreadPool<RecordBatch, MemberBatch>(new URL('./member-worker.ts', import.meta.url), {
    threads: 1,
    // A batch creates little garbage. A larger limit would only fill up with it.
    limits: { maxYoungGenerationSizeMb: 4 },
  });

  /** The members of the records, in order. */
  async encode(records: readonly UnencodedRecord[]): Promise<Uint8Array[]> {
    const batch = packRecords(records);
    return unpackMembers(await this.#threads.run(batch, [batch.bytes.buffer]));
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
