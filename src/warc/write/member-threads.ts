/**
 * Puts many records into gzip members at once, on a thread of its own: compressing is what writing small records costs
 * most, and whoever writes them has other things to do meanwhile. The members are those that a `MemberEncoder` makes of
 * records in one piece.
 */
import { ThreadPool } from '../../base/index.ts';
import { type LooseRecord, type MemberBatch, packRecords, type RecordBatch, unpackMembers } from './member-batch.ts';

export class MemberThreads {
  readonly #threads = new ThreadPool<RecordBatch, MemberBatch>(new URL('./member-worker.ts', import.meta.url), {
    threads: 1,
    // A batch makes little garbage; more room would only be filled with it.
    limits: { maxYoungGenerationSizeMb: 4 },
  });

  /** The members of the records, in order. */
  async encode(records: readonly LooseRecord[]): Promise<Uint8Array[]> {
    const batch = packRecords(records);
    return unpackMembers(await this.#threads.run(batch, [batch.bytes.buffer]));
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
