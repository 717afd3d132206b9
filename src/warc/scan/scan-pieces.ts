/** The pieces of a range that is being scanned, one after the other, on this thread or on another one. */
import { setImmediate } from 'node:timers/promises';
import { assert, type ThreadPool } from '../../base/index.ts';
import { RangeScan, type ScanJob, type ScanPiece } from './scan.ts';
import { giveBack, giveUp, newRoom, type ScanOrder } from './scan-order.ts';

/** The last piece is the answer, unless the range was given up; those before it are parts. */
export type ScanThreads = ThreadPool<ScanOrder, ScanPiece | undefined, ScanPiece>;

export interface RangePieces {
  /** Where the range found its first record; see `ScanPiece`. */
  first(): Promise<number>;
  /** To be called until a piece is the last. */
  next(): Promise<ScanPiece>;
  /** Nothing more is wanted. */
  giveUp(): void;
}

/** Scans when a piece is asked for. */
export class PiecesHere implements RangePieces {
  readonly #job: ScanJob;
  #scan: RangeScan | undefined;
  /** One that was made and not taken yet. */
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
    // Others have their turn, who may want no more of it.
    if (!piece.isLast) await setImmediate();
    return piece;
  }

  giveUp(): void {
    this.#scan?.close();
    this.#scan = undefined;
  }

  #make(): ScanPiece {
    this.#scan ??= new RangeScan(this.#job);
    try {
      const piece = this.#scan.next();
      if (piece.isLast) this.giveUp();
      return piece;
    } catch (error) {
      this.giveUp();
      throw error;
    }
  }
}

/** Scanned by a thread that is some pieces ahead. */
export class PiecesOfThread implements RangePieces {
  readonly #room = newRoom();
  readonly #come: ScanPiece[] = [];
  readonly #done: Promise<void>;
  #onPiece: (() => void) | undefined;

  constructor(threads: ScanThreads, job: ScanJob) {
    const take = (piece: ScanPiece | undefined) => {
      if (piece) this.#come.push(piece);
      this.#onPiece?.();
    };
    this.#done = threads.run({ job, room: this.#room }, [], take).then(take);
    // Whoever asks for a piece is told.
    this.#done.catch(() => {});
  }

  async first(): Promise<number> {
    await this.#untilCome();
    return this.#come[0]!.first;
  }

  async next(): Promise<ScanPiece> {
    await this.#untilCome();
    giveBack(this.#room);
    return this.#come.shift()!;
  }

  giveUp(): void {
    giveUp(this.#room);
  }

  async #untilCome(): Promise<void> {
    if (this.#come.length > 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onPiece = resolve;
    await Promise.race([promise, this.#done]);
    this.#onPiece = undefined;
    assert(this.#come.length > 0, 'a range that is wanted ends with its last piece');
  }
}
