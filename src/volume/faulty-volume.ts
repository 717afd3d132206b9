/**
 * A volume that fails on purpose, wrapped around a working volume: for tests of what happens when the n-th operation
 * fails or the power is cut.
 *
 *     for (let nth = 1; ; nth++) {
 *       const volume = new FaultyVolume(inner, random, [{ nth, on: CHANGES, effect: 'io-error' }]);
 *       await work(volume);                            // must fail cleanly, or succeed
 *       if (volume.fired.length === 0) break;          // fewer than n operations: every one has failed once
 *       await volume.crash();                          // optional: what was not synced is lost
 *       await check(new FaultyVolume(inner, random));  // what was acknowledged is there
 *     }
 *
 * It keeps the contract of a volume also while it fails: after a torn append or a failed sync the object is doubted
 * (see `object-trust.ts`). Whatever the inner volume holds at the beginning counts as durable. After `crash` every call
 * fails with VOLUME_MISSING; the inner volume holds what a disk would hold, and can be wrapped again.
 */
import { PinakesError, type Random } from '../base/index.ts';
import { assertObjectName } from './object-name.ts';
import { ObjectTrust } from './object-trust.ts';
import { OperationCount, OperationQueue } from './operation-queue.ts';
import type { ObjectInfo, ReadRange, Volume, VolumeSpace } from './volume.ts';
import { closedError, whereIn } from './volume-error.ts';

export type Operation =
  | 'list'
  | 'stat'
  | 'create'
  | 'append'
  | 'sync'
  | 'truncate'
  | 'seal'
  | 'rename'
  | 'remove'
  | 'read'
  | 'stream'
  | 'space';

/** The operations that change something. */
export const CHANGES: readonly Operation[] = ['create', 'append', 'sync', 'truncate', 'seal', 'rename', 'remove'];

/**
 * - `io-error`: the operation does nothing and fails with VOLUME_IO.
 * - `io-error-after`: the operation is done and fails with VOLUME_IO, as when a connection breaks before the answer. A
 *   stream breaks off after its first piece.
 * - `disk-full`: the operation does nothing and fails with DISK_FULL.
 * - `power-loss`: the operation may be done in part. It and every later operation fail with VOLUME_MISSING. `crash`
 *   then decides which bytes remain.
 */
export type Effect = 'io-error' | 'io-error-after' | 'disk-full' | 'power-loss';

export type Fault = {
  /** Which operation fails, counted from 1 among the operations of `on`. */
  readonly nth: number;
  /** Which operations are counted; all, when absent. */
  readonly on?: readonly Operation[];
  readonly effect: Effect;
  /** Whether all later operations fail too. */
  readonly lasting?: boolean;
  /** How many bytes of a failing append are written nevertheless and cannot be removed. */
  readonly tornBytes?: number;
};

export type FiredFault = { readonly fault: Fault; readonly operation: Operation; readonly names: readonly string[] };

/** The state, in the wrapped volume, of an object that was written to. */
type Written = { bytes: number; durableBytes: number; durableName: boolean; readonly trust: ObjectTrust };

export class FaultyVolume implements Volume {
  readonly #inner: Volume;
  readonly #random: Random;
  readonly #faults: readonly Fault[];
  readonly #counts = new Map<Operation, number>();
  readonly #fired: FiredFault[] = [];
  readonly #written = new Map<string, Written>();
  readonly #queue = new OperationQueue();
  readonly #underWay = new OperationCount();
  #dark = false;
  #closed = false;

  constructor(inner: Volume, random: Random, faults: readonly Fault[] = []) {
    this.#inner = inner;
    this.#random = random;
    this.#faults = faults;
  }

  get name(): string {
    return this.#inner.name;
  }

  get writable(): boolean {
    return this.#inner.writable;
  }

  /** The faults that happened, in order. */
  get fired(): readonly FiredFault[] {
    return this.#fired;
  }

  /** How many operations of these kinds were called; of all kinds, when none is given. */
  count(...operations: readonly Operation[]): number {
    let total = 0;
    for (const [operation, count] of this.#counts) {
      if (operations.length === 0 || operations.includes(operation)) total += count;
    }
    return total;
  }

  /**
   * Power loss: a random beginning of the unsynced bytes remains, and the rest is lost. Waits for running operations.
   */
  async crash(): Promise<void> {
    this.#dark = true;
    await this.#underWay.idle();
    for (const [name, { bytes, durableBytes, durableName }] of [...this.#written]) {
      this.#written.delete(name);
      const keptBytes = durableBytes + Math.floor(this.#random() * (bytes - durableBytes + 1));
      if (!durableName && this.#random() < 0.5) await this.#inner.remove([name]);
      else await this.#inner.truncate(name, keptBytes);
    }
  }

  list(prefix?: string): Promise<ObjectInfo[]> {
    return this.#look('list', [], () => this.#inner.list(prefix));
  }

  stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]> {
    return this.#look('stat', names, () => this.#inner.stat(names));
  }

  create(name: string): Promise<void> {
    return this.#change('create', [name], async () => {
      await this.#inner.create(name);
      this.#written.set(name, { bytes: 0, durableBytes: 0, durableName: false, trust: new ObjectTrust(0) });
    });
  }

  append(name: string, at: number, parts: readonly Uint8Array[]): Promise<void> {
    const write = async (written: Written | undefined, kept: readonly Uint8Array[]) => {
      await this.#inner.append(name, at, kept);
      if (written) written.bytes = at + lengthOf(kept);
    };
    return this.#change(
      'append',
      [name],
      async (written) => {
        if (written?.trust.doubted) throw this.#error('OBJECT_MOVED', [name], 'an earlier write or sync failed');
        await write(written, parts);
      },
      async (written, fault) => {
        // An append at another offset than the end writes nothing in any case.
        if (written?.bytes !== at || written.trust.doubted) return;
        const whole = lengthOf(parts);
        const torn = fault.effect === 'power-loss' ? Math.floor(this.#random() * (whole + 1)) : 0;
        const keptBytes = fault.effect === 'io-error-after' ? whole : Math.min(whole, fault.tornBytes ?? torn);
        if (keptBytes === 0) return;
        await write(written, beginning(parts, keptBytes));
        written.trust.appendFailedAt(at);
      },
    );
  }

  async sync(names: readonly string[]): Promise<void> {
    const distinct = [...new Set(names)];
    const each = async (action: (written: Written) => void) => {
      for (const name of distinct) {
        const written = await this.#know(name);
        if (written) action(written);
      }
    };
    const makeDurable = (written: Written) => {
      written.durableBytes = written.bytes;
      written.durableName = true;
    };
    await this.#change(
      'sync',
      distinct,
      async () => {
        await each((written) => {
          if (written.trust.doubted) throw this.#error('VOLUME_IO', distinct, 'an earlier write or sync failed');
        });
        await this.#inner.sync(distinct);
        await each((written) => {
          makeDurable(written);
          written.trust.synced(written.bytes);
        });
      },
      async (_, { effect }) => {
        const reachedDisk = effect === 'io-error-after' || (effect === 'power-loss' && this.#random() < 0.5);
        await each((written) => {
          if (reachedDisk) makeDurable(written);
          written.trust.syncFailed();
        });
      },
    );
  }

  truncate(name: string, length: number): Promise<void> {
    return this.#change('truncate', [name], async (written) => {
      if (written && length > written.trust.trustedBytes) {
        throw this.#error('OBJECT_MOVED', [name], 'an earlier write or sync failed');
      }
      await this.#inner.truncate(name, length);
      if (!written) return;
      written.bytes = written.durableBytes = length;
      written.durableName = true;
      written.trust.cut(length);
    });
  }

  seal(name: string): Promise<void> {
    return this.#change('seal', [name], async (written) => {
      if (written?.trust.doubted) throw this.#error('VOLUME_IO', [name], 'an earlier write or sync failed');
      await this.#inner.seal(name);
      this.#written.delete(name);
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#change('rename', [from, to], async (written) => {
      if (written?.trust.doubted) throw this.#error('VOLUME_IO', [from], 'an earlier write or sync failed');
      await this.#inner.rename(from, to);
      this.#written.delete(from);
      this.#written.delete(to);
    });
  }

  remove(names: readonly string[]): Promise<void> {
    const distinct = [...new Set(names)];
    return this.#change('remove', distinct, async () => {
      await this.#inner.remove(distinct);
      for (const name of distinct) this.#written.delete(name);
    });
  }

  read(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    return this.#look(
      'read',
      ranges.map(({ name }) => name),
      () => this.#inner.read(ranges),
    );
  }

  async *stream(name: string, from?: number, to?: number): AsyncGenerator<Uint8Array, void, void> {
    const fault = this.#strike('stream', [name]);
    if (fault && fault.effect !== 'io-error-after') throw this.#failure(fault, [name]);
    for await (const piece of this.#inner.stream(name, from, to)) {
      this.#assertOpen();
      if (this.#dark) throw this.#error('VOLUME_MISSING', [name]);
      yield piece;
      if (fault) throw this.#failure(fault, [name]);
    }
    if (fault) throw this.#failure(fault, [name]);
  }

  space(): Promise<VolumeSpace> {
    return this.#look('space', [], () => this.#inner.space());
  }

  /**
   * Waits for running operations. The wrapped volume stays open: it belongs to its maker and may be wrapped again.
   */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#underWay.idle();
  }

  #look<T>(operation: Operation, names: readonly string[], action: () => Promise<T>): Promise<T> {
    return this.#underWay.during(async () => {
      this.#assertOpen();
      const fault = this.#strike(operation, names);
      if (fault) throw this.#failure(fault, names);
      return action();
    });
  }

  /**
   * Runs an operation that changes something, with the state of the first object. `failing` does the part that is done
   * when the operation fails; without it, the operation is done completely or not at all.
   */
  #change(
    operation: Operation,
    names: readonly string[],
    action: (written: Written | undefined) => Promise<void>,
    failing?: (written: Written | undefined, fault: Fault) => Promise<void>,
  ): Promise<void> {
    return this.#underWay.during(async () => {
      this.#assertOpen();
      names.forEach(assertObjectName);
      return this.#queue.run(names, async () => {
        const fault = this.#strike(operation, names);
        const written = operation === 'create' || names.length === 0 ? undefined : await this.#know(names[0]!);
        if (!fault) return action(written);
        if (failing) await failing(written, fault);
        else if (fault.effect === 'io-error-after') await action(written);
        else if (fault.effect === 'power-loss' && this.#random() < 0.5) await action(written).catch(() => undefined);
        throw this.#failure(fault, names);
      });
    });
  }

  /**
   * The state, in the wrapped volume, of an object that can be written to; undefined for a sealed or missing object.
   */
  async #know(name: string): Promise<Written | undefined> {
    const known = this.#written.get(name);
    if (known) return known;
    const [info] = await this.#inner.stat([name]);
    if (!info || info.sealed || !this.writable) return undefined;
    const { bytes } = info;
    const written = { bytes, durableBytes: bytes, durableName: true, trust: new ObjectTrust(bytes) };
    this.#written.set(name, written);
    return written;
  }

  /** Counts an operation; returns the fault if it is to fail. */
  #strike(operation: Operation, names: readonly string[]): Fault | undefined {
    if (this.#dark) throw this.#error('VOLUME_MISSING', names);
    this.#counts.set(operation, this.count(operation) + 1);
    const fault = this.#faults.find(({ nth, on, lasting }) => {
      if (on && !on.includes(operation)) return false;
      const counted = this.count(...(on ?? []));
      return counted === nth || (lasting === true && counted > nth);
    });
    if (fault) this.#fired.push({ fault, operation, names });
    if (fault?.effect === 'power-loss') this.#dark = true;
    return fault;
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError(this.name);
  }

  #failure({ effect }: Fault, names: readonly string[]): PinakesError {
    if (effect === 'power-loss') return this.#error('VOLUME_MISSING', names, 'a fault made on purpose');
    return this.#error(effect === 'disk-full' ? 'DISK_FULL' : 'VOLUME_IO', names, 'a fault made on purpose');
  }

  #error(
    code: 'DISK_FULL' | 'OBJECT_MOVED' | 'VOLUME_IO' | 'VOLUME_MISSING',
    names: readonly string[],
    detail?: string,
  ): PinakesError {
    return new PinakesError(code, { where: whereIn(this.name, names[0]), ...(detail && { detail }) });
  }
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

function beginning(parts: readonly Uint8Array[], bytes: number): Uint8Array[] {
  const kept: Uint8Array[] = [];
  for (const part of parts) {
    kept.push(part.subarray(0, bytes));
    bytes -= Math.min(bytes, part.length);
  }
  return kept;
}
