/**
 * A segment store whose requests are counted in the activity of its volume. Reads and streams are as fast as without
 * it: the caller gets the promise of the store itself, and the same functions count every read.
 */
import type { SegmentPart } from '../../catalog/index.ts';
import type { FoundSegment, SegmentBytes, SegmentRange, SegmentStore } from '../../ledger/index.ts';
import type { ObjectInfo, VolumeSpace } from '../../volume/index.ts';
import type { NodeActivity, NodeRequestKind } from './node-activity.ts';

export class ObservedStore implements SegmentStore {
  readonly volume: string;
  readonly hasParts: boolean;
  readonly isWritable: boolean;
  readonly ownerNumber: number | undefined;
  readonly #store: SegmentStore;
  readonly #activity: NodeActivity;
  readonly #readEnded: (pieces: readonly Uint8Array[]) => void;
  readonly #readFailed: (error: unknown) => void;

  constructor(store: SegmentStore, activity: NodeActivity) {
    this.volume = store.volume;
    this.hasParts = store.hasParts;
    this.isWritable = store.isWritable;
    this.ownerNumber = store.ownerNumber;
    this.#store = store;
    this.#activity = activity;
    this.#readEnded = (pieces) => activity.end('read', bytesOf(pieces));
    this.#readFailed = (error) => {
      activity.end('read');
      activity.failed(error);
    };
  }

  read(segment: SegmentBytes, ranges: readonly SegmentRange[]): Promise<Uint8Array[]> {
    const reading = this.#store.read(segment, ranges);
    this.#activity.begin('read');
    reading.then(this.#readEnded, this.#readFailed);
    return reading;
  }

  stream(segment: SegmentBytes, from: number, to: number): AsyncIterable<Uint8Array> {
    return observedStream(this.#store.stream(segment, from, to), 'stream', this.#activity, (piece) => piece.length);
  }

  list(prefix?: string): AsyncIterable<readonly ObjectInfo[]> {
    return observedStream(this.#store.list(prefix), 'list', this.#activity, () => 0);
  }

  find(name: string): Promise<FoundSegment> {
    return this.#counted('list', () => this.#store.find(name));
  }

  lengthOf(segment: SegmentBytes): Promise<number | undefined> {
    return this.#counted('list', () => this.#store.lengthOf(segment));
  }

  /** Is not counted: the system answers it, and not the disk. */
  space(): Promise<VolumeSpace | undefined> {
    return this.#store.space();
  }

  begin(name: string): Promise<void> {
    return this.#counted('write', () => this.#store.begin(name));
  }

  async append(
    name: string,
    at: number,
    bytes: readonly Uint8Array[],
    attempt: number,
  ): Promise<SegmentPart | undefined> {
    const part = await this.#counted('write', () => this.#store.append(name, at, bytes, attempt));
    this.#activity.wrote(bytesOf(bytes));
    return part;
  }

  sync(names: readonly string[]): Promise<void> {
    return this.#counted('sync', () => this.#store.sync(names));
  }

  cut(name: string, length: number): Promise<void> {
    return this.#counted('write', () => this.#store.cut(name, length));
  }

  seal(segment: SegmentBytes): Promise<void> {
    return this.#counted('write', () => this.#store.seal(segment));
  }

  remove(names: readonly string[]): Promise<void> {
    return this.#counted('write', () => this.#store.remove(names));
  }

  async writeObject(name: string, bytes: Uint8Array): Promise<void> {
    await this.#counted('write', () => this.#store.writeObject(name, bytes));
    this.#activity.wrote(bytes.length);
  }

  async readObject(name: string, bytesMax: number): Promise<Uint8Array | undefined> {
    const bytes = await this.#counted('read', () => this.#store.readObject(name, bytesMax));
    this.#activity.read(bytes?.length ?? 0);
    return bytes;
  }

  async #counted<T>(kind: NodeRequestKind, work: () => Promise<T>): Promise<T> {
    this.#activity.begin(kind);
    try {
      return await work();
    } catch (error) {
      this.#activity.failed(error);
      throw error;
    } finally {
      this.#activity.end(kind);
    }
  }
}

function observedStream<T>(
  source: AsyncIterable<T>,
  kind: NodeRequestKind,
  activity: NodeActivity,
  bytesOf: (piece: T) => number,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: () => new ObservedIterator(source[Symbol.asyncIterator](), kind, activity, bytesOf),
  };
}

/** Under way from the first piece that is requested to the end. */
class ObservedIterator<T> implements AsyncIterator<T, void, undefined> {
  readonly #source: AsyncIterator<T>;
  readonly #kind: NodeRequestKind;
  readonly #activity: NodeActivity;
  readonly #passed: (step: IteratorResult<T>) => void;
  readonly #failed: (error: unknown) => void;
  #state: 'new' | 'open' | 'over' = 'new';

  constructor(source: AsyncIterator<T>, kind: NodeRequestKind, activity: NodeActivity, sizeOf: (piece: T) => number) {
    this.#source = source;
    this.#kind = kind;
    this.#activity = activity;
    this.#passed = (step) => {
      if (step.done) this.#end();
      else activity.read(sizeOf(step.value));
    };
    this.#failed = (error) => {
      activity.failed(error);
      this.#end();
    };
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#state === 'new') {
      this.#state = 'open';
      this.#activity.begin(this.#kind);
    }
    const step = this.#source.next();
    step.then(this.#passed, this.#failed);
    return step;
  }

  async return(): Promise<IteratorResult<T>> {
    try {
      await this.#source.return?.();
    } finally {
      this.#end();
    }
    return { done: true, value: undefined };
  }

  #end(): void {
    if (this.#state === 'open') this.#activity.end(this.#kind);
    this.#state = 'over';
  }
}

function bytesOf(pieces: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const piece of pieces) bytes += piece.length;
  return bytes;
}
