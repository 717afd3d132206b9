/** The pieces of a range that is being scanned, one after the other, on this thread or on another. */
import { setImmediate } from 'node:timers/promises';
import { assert, type ThreadPool } from '../../base/index.ts';
import { RangeScan, type ScanJob, type ScanPiece } from './scan.ts';
import { abandon, giveBackRoom, newRoom, type ScanOrder } from './scan-order.ts';

/** The last piece is the answer of the job, unless the range was abandoned. Earlier pieces are parts. */
export type ScanThreads = ThreadPool<ScanOrder, ScanPiece | undefined, ScanPiece>;

export interface RangePieces {
  /** Where the first record of the range begins; see `ScanPiece`. */
  first(): Promise<number>;
  /** The next piece. Call this until a piece has `isLast`. */
  next(): Promise<ScanPiece>;
  /** Ends the scan early, when no more pieces are needed. */
  abandon(): void;
}

/** Scans a piece when it is requested. */
export class LocalPieces implements RangePieces {
  readonly #job: ScanJob;
  #scan: RangeScan | undefined;
  /** A piece that was made and not taken yet. */
  #made: ScanPiece | undefined;

  constructor(job: ScanJob) {
    this.#job = job;
  }

  async first(): Promise<number> {
    this.#made ??= this.#make();
    return this.#made.first;
  }

  async next(): Promise<ScanPiece> {
    const piece = this.#made ?? this.#make();
    this.#made = undefined;
    // Let other tasks run: one of them may abandon the scan.
    if (!piece.isLast) await setImmediate();
    return piece;
  }

  abandon(): void {
    this.#scan?.close();
    this.#scan = undefined;
  }

  #make(): ScanPiece {
    this.#scan ??= new RangeScan(this.#job);
    try {
      const piece = this.#scan.next();
      if (piece.isLast) this.abandon();
      return piece;
    } catch (error) {
      this.abandon();
      throw error;
    }
  }
}

/** Takes the pieces of a range from a thread, which may be some pieces ahead. */
export class ThreadPieces implements RangePieces {
  readonly #room = newRoom();
  readonly #arrived: ScanPiece[] = [];
  readonly #done: Promise<void>;
  #onPiece: (() => void) | undefined;

  constructor(threads: ScanThreads, job: ScanJob) {
    const take = (piece: ScanPiece | undefined) => {
      if (piece) this.#arrived.push(piece);
      this.#onPiece?.();
    };
    this.#done = threads.run({ job, room: this.#room }, [], take).then(take);
    // `first` or `next` throws the error.
    this.#done.catch(() => {});
  }

  async first(): Promise<number> {
    await this.#untilArrived();
    return this.#arrived[0]!.first;
  }

  async next(): Promise<ScanPiece> {
    await this.#untilArrived();
    giveBackRoom(this.#room);
    return this.#arrived.shift()!;
  }

  abandon(): void {
    abandon(this.#room);
  }

  async #untilArrived(): Promise<void> {
    if (this.#arrived.length > 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onPiece = resolve;
    await Promise.race([promise, this.#done]);
    this.#onPiece = undefined;
    assert(this.#arrived.length > 0, 'a range ends with its last piece, unless it was abandoned');
  }
}
