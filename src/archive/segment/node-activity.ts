/**
 * What each volume of an archive does at present, as this process uses it. Nothing of it is stored. An activity belongs
 * to the name of a volume, and outlives the volume when that is opened again.
 */
import { type Clock, type EpochMs, type ErrorCode, PinakesError } from '../../base/index.ts';
import { RecentCount } from './recent-count.ts';

/** `write`: beginning, appending, sealing, cutting and removing. `list`: finding and listing. */
export type NodeRequestKind = 'read' | 'stream' | 'write' | 'sync' | 'list';

/** The last failure of a request. */
export type NodeError = { readonly time: EpochMs; readonly code: ErrorCode; readonly message: string };

export type NodeFigures = {
  /** Requests under way. */
  readonly pending: Readonly<Record<NodeRequestKind, number>>;
  /** Requests that ended in the last minute, and the bytes of these and of streams. */
  readonly lastMinute: { readonly requests: number; readonly readBytes: number; readonly writtenBytes: number };
  readonly lastError: NodeError | undefined;
};

/** A volume counts as storing for this long after a write. */
const STORING_MS = 5000;

/** Ordinary answers, and ends that say nothing about the volume. */
const NO_FAILURES: ReadonlySet<ErrorCode> = new Set([
  'ARCHIVE_CLOSED',
  'OBJECT_EXISTS',
  'OBJECT_MISSING',
  'OBJECT_MOVED',
]);

export class NodeActivity {
  readonly #clock: Clock;
  readonly #pending: Record<NodeRequestKind, number> = { read: 0, stream: 0, write: 0, sync: 0, list: 0 };
  readonly #requests = new RecentCount();
  readonly #readBytes = new RecentCount();
  readonly #writtenBytes = new RecentCount();
  #writtenAt: EpochMs | undefined;
  #lastError: NodeError | undefined;
  #moves = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(kind: NodeRequestKind): void {
    this.#pending[kind]++;
  }

  end(kind: NodeRequestKind, readBytes = 0): void {
    this.#pending[kind]--;
    const now = this.#clock();
    this.#requests.add(1, now);
    if (readBytes > 0) this.#readBytes.add(readBytes, now);
  }

  read(bytes: number): void {
    this.#readBytes.add(bytes, this.#clock());
  }

  wrote(bytes: number): void {
    const now = this.#clock();
    this.#writtenBytes.add(bytes, now);
    this.#writtenAt = now;
  }

  failed(error: unknown): void {
    if (!(error instanceof PinakesError) || NO_FAILURES.has(error.code)) return;
    this.#lastError = { time: this.#clock(), code: error.code, message: error.message };
  }

  /** Runs work that moves records from or to the volume. */
  async moving<T>(work: () => Promise<T>): Promise<T> {
    this.#moves++;
    try {
      return await work();
    } finally {
      this.#moves--;
    }
  }

  get isMoving(): boolean {
    return this.#moves > 0;
  }

  get isStoring(): boolean {
    if (this.#pending.write > 0 || this.#pending.sync > 0) return true;
    return this.#writtenAt !== undefined && Math.abs(this.#clock() - this.#writtenAt) < STORING_MS;
  }

  get isStreaming(): boolean {
    return this.#pending.stream > 0;
  }

  figures(): NodeFigures {
    const now = this.#clock();
    return {
      pending: { ...this.#pending },
      lastMinute: {
        requests: this.#requests.sum(now),
        readBytes: this.#readBytes.sum(now),
        writtenBytes: this.#writtenBytes.sum(now),
      },
      lastError: this.#lastError,
    };
  }
}

/** The activities of an archive's volumes, by name. */
export class NodeActivities {
  readonly #clock: Clock;
  readonly #activities = new Map<string, NodeActivity>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(volume: string): NodeActivity {
    const activity = this.#activities.get(volume) ?? new NodeActivity(this.#clock);
    this.#activities.set(volume, activity);
    return activity;
  }

  isStreaming(volume: string): boolean {
    return this.#activities.get(volume)?.isStreaming ?? false;
  }

  /** Runs work that moves records between these volumes. */
  moving<T>(volumes: readonly string[], work: () => Promise<T>): Promise<T> {
    const run = volumes.reduce((inner, volume) => () => this.of(volume).moving(inner), work);
    return run();
  }
}
