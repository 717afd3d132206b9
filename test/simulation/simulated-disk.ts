/**
 * A volume with real append as one process sees it, over the disk of the world. Every call passes a gate. At a power
 * cut each object keeps its synced bytes and some of the others, up to a record or up to any byte.
 */
import {
  type ObjectInfo,
  openMemoryVolume,
  type ReadRange,
  type Volume,
  type VolumeSpace,
} from '../../src/volume/index.ts';
import { recordsOf } from './found-record.ts';
import type { Alternative, Choose, Process } from './scheduler.ts';
import { VOLUME, type World } from './world.ts';

export class SimulatedDisk implements Volume {
  readonly name = VOLUME;
  readonly writable = true;
  readonly #process: Process;
  readonly #inner: Volume;

  constructor(world: World, process: Process) {
    this.#process = process;
    this.#inner = openMemoryVolume(VOLUME, world.disk);
  }

  async list(prefix?: string): Promise<ObjectInfo[]> {
    await this.#process.pass(() => `lists the disk ${prefix ?? ''}`);
    return this.#inner.list(prefix);
  }

  async stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]> {
    await this.#process.pass(() => `stats ${names}`);
    return this.#inner.stat(names);
  }

  async create(name: string): Promise<void> {
    await this.#process.pass(() => `creates ${name}`);
    return this.#inner.create(name);
  }

  async append(name: string, at: number, parts: readonly Uint8Array[]): Promise<void> {
    await this.#process.pass(() => `appends to ${name} at ${at}`);
    return this.#inner.append(name, at, parts);
  }

  async sync(names: readonly string[]): Promise<void> {
    await this.#process.pass(() => `syncs ${names}`);
    return this.#inner.sync(names);
  }

  async truncate(name: string, length: number): Promise<void> {
    await this.#process.pass(() => `cuts ${name} to ${length}`);
    return this.#inner.truncate(name, length);
  }

  async seal(name: string): Promise<void> {
    await this.#process.pass(() => `seals ${name}`);
    return this.#inner.seal(name);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#process.pass(() => `renames ${from} to ${to}`);
    return this.#inner.rename(from, to);
  }

  async remove(names: readonly string[]): Promise<void> {
    await this.#process.pass(() => `removes ${names}`);
    return this.#inner.remove(names);
  }

  async read(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    await this.#process.pass(() => `reads ${ranges.map(({ name, offset, length }) => `${name}@${offset}+${length}`)}`);
    return this.#inner.read(ranges);
  }

  async *stream(name: string, from?: number, to?: number): AsyncGenerator<Uint8Array> {
    await this.#process.pass(() => `reads ${name}`);
    yield* this.#inner.stream(name, from, to);
  }

  async space(): Promise<VolumeSpace> {
    return this.#inner.space();
  }

  async close(): Promise<void> {}
}

/** What is left of the unsynced bytes of one object. */
type Cut = Alternative & { readonly bytes: number; readonly isGone?: boolean };

/** The machine loses power: what was not synced is kept, lost, or cut. */
export async function cutPower({ disk }: World, choose: Choose, trace?: (line: string) => void): Promise<void> {
  for (const [name, object] of [...disk.objects]) {
    const { bytes, durableBytes, durableName, buffer } = object;
    if (bytes > durableBytes || !durableName) {
      const ends = (await recordsOf(buffer.slice(0, bytes))).map(({ offset, length = 0 }) => offset + length);
      const cut = (cost: number, length: number): Cut => ({
        kind: 'back',
        cost,
        label: `${name} is cut to ${length} of ${bytes} bytes`,
        bytes: length,
      });
      const cuts = [cut(0, bytes)];
      if (bytes > durableBytes) cuts.push(cut(0, durableBytes));
      if (!durableName) cuts.push({ ...cut(0, 0), label: `${name} is gone`, isGone: true });
      for (const end of ends) if (end > durableBytes && end < bytes) cuts.push(cut(0.5, end));
      const first = ends.find((end) => end > durableBytes) ?? bytes;
      if (first > durableBytes + 1) cuts.push(cut(0.5, Math.floor((durableBytes + first) / 2)));
      const chosen = cuts[cuts.length === 1 ? 0 : choose(cuts)]!;
      trace?.(chosen.label);
      object.bytes = chosen.bytes;
      if (chosen.isGone) disk.objects.delete(name);
    }
    object.durableBytes = object.bytes;
    object.durableName = true;
  }
}
