/**
 * A volume of immutable objects as one process sees it, over the bucket of the world. Every call passes a gate. A PUT
 * may be done without an answer, arrive later, or never arrive.
 */
import { PinakesError } from '../../src/base/index.ts';
import { MemoryPartVolume, type ObjectInfo, type PartVolume, type ReadRange } from '../../src/volume/index.ts';
import type { Process } from './scheduler.ts';
import { VOLUME, type World } from './world.ts';

const PUT_FAULTS = ['done, answer lost', 'in flight, arrives later', 'never arrives'] as const;

export class SimulatedVolume implements PartVolume {
  readonly name = VOLUME;
  readonly writable = true;
  readonly #world: World;
  readonly #process: Process;
  readonly #inner: MemoryPartVolume;

  constructor(world: World, process: Process) {
    this.#world = world;
    this.#process = process;
    this.#inner = new MemoryPartVolume(VOLUME, world.bucket);
  }

  async *list(prefix?: string): AsyncGenerator<ObjectInfo[]> {
    await this.#process.pass(() => `lists the volume ${prefix ?? ''}`);
    const pages: ObjectInfo[][] = [];
    for await (const page of this.#inner.list(prefix)) pages.push(page);
    yield* pages;
  }

  async stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]> {
    await this.#process.pass(() => `HEAD ${names}`);
    return this.#inner.stat(names);
  }

  async put(name: string, bytes: readonly Uint8Array[]): Promise<void> {
    await this.#process.pass(() => `PUT ${name}`);
    const { attempt } = this.#world.without;
    this.#put(attempt ? name.replace(/-\d+\.part$/, '-1.part') : name, Uint8Array.from(Buffer.concat(bytes)));
  }

  async join(name: string, ranges: readonly ReadRange[]): Promise<void> {
    await this.#process.pass(() => `PUT ${name}, joined of ${ranges.map((range) => range.name)}`);
    this.#put(name, Uint8Array.from(Buffer.concat(await this.#inner.read(ranges))));
  }

  async remove(names: readonly string[]): Promise<void> {
    await this.#process.pass(() => `DELETE ${names}`);
    return this.#inner.remove(names);
  }

  async read(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    await this.#process.pass(() => `GET ${ranges.map(({ name, offset, length }) => `${name}@${offset}+${length}`)}`);
    return this.#inner.read(ranges);
  }

  async *stream(name: string, from?: number, to?: number): AsyncGenerator<Uint8Array> {
    await this.#process.pass(() => `GET ${name}`);
    yield* this.#inner.stream(name, from, to);
  }

  async close(): Promise<void> {}

  #put(name: string, bytes: Uint8Array): void {
    const { bucket, late, without } = this.#world;
    this.#world.checkName(name, bytes);
    const fault = this.#world.hasFaults ? this.#process.fault(PUT_FAULTS) : undefined;
    const isDropped = isUnwritten(name, without);
    if (fault === 'in flight, arrives later') late.push({ name, bytes });
    else if (fault !== 'never arrives' && !isDropped) bucket.set(name, bytes);
    if (!fault) return;
    this.#process.note(() => `-> ${fault}`);
    throw new PinakesError('VOLUME_IO', { where: `${VOLUME}:${name}`, detail: fault });
  }
}

function isUnwritten(name: string, { notes, manifest }: World['without']): boolean {
  if (notes && name.startsWith('_pinakes/replaced/')) return true;
  return manifest === true && name.startsWith('_pinakes/catalog/');
}
