/**
 * A small archive for tests of the ledger: a catalog and a volume in memory, and any number of writers with the real
 * stores and leases. Its captures are those of the simulation's book.
 */
import assert from 'node:assert/strict';
import { type EpochMs, seededIds, seededRandom } from '../../src/base/index.ts';
import { type Capture, type Catalog, MemoryCatalog } from '../../src/catalog/index.ts';
import { Deleter, type SegmentStore, type SegmentWriter } from '../../src/ledger/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { type MemoryBucket, MemoryDisk, MemoryPartVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { Book, CAPTURE_DATE, keyOf, type TestCapture } from '../simulation/book.ts';
import { type Objects, objectsOf } from '../simulation/found-record.ts';
import { judgeCatalog } from '../simulation/judge.ts';
import { COLLECTION, DELETIONS, leaseOf, storesOf, type VolumeKind, writerOf } from '../simulation/ledger-machine.ts';
import { storeGroups } from '../simulation/ledger-writer.ts';
import type { Machine } from '../simulation/machine.ts';
import { VOLUME } from '../simulation/world.ts';

export class SmallArchive {
  now: EpochMs = Date.UTC(2026, 0, 2);
  readonly catalog: MemoryCatalog = new MemoryCatalog({ clock: () => this.now });
  readonly kind: VolumeKind;
  readonly book = new Book();
  readonly bucket: MemoryBucket = new Map();
  readonly disk = new MemoryDisk();
  readonly ids = seededIds(seededRandom(1));

  constructor(kind: VolumeKind = 'bucket') {
    this.kind = kind;
  }

  /** A process of this name. With a catalog of its own, it sees what that one answers. */
  machine(name: string, catalog: Catalog = this.catalog): Machine {
    const machine: Partial<Machine> = {
      name,
      catalog,
      bucket: new MemoryPartVolume(VOLUME, this.bucket),
      disk: openMemoryVolume(VOLUME, this.disk),
      book: this.book,
      clock: () => this.now,
      sleep: async (ms) => {
        this.now += ms;
      },
      ids: this.ids,
    };
    return machine as Machine;
  }

  get store(): SegmentStore {
    return storesOf(this.machine('store'), this.kind).get(VOLUME);
  }

  async writer(name: string, catalog?: Catalog): Promise<SegmentWriter> {
    const machine = this.machine(name, catalog);
    const held = await leaseOf(machine);
    assert.ok(held, `the lease ${name} is free`);
    return writerOf(machine, { lease: held.lease, volume: this.kind });
  }

  /** Stores captures in one commit, in a segment of their own, which is sealed. Returns its name. */
  async sealed(name: string, captures: readonly TestCapture[]): Promise<string> {
    const writer = await this.writer(name);
    await storeGroups(this.machine(name), writer, [captures]);
    const [open] = writer.openSegments();
    await writer.seal(open!);
    for (const { id } of captures) assert.ok(this.book.acknowledged.has(id), `${id} is stored`);
    return open!.segment.name;
  }

  async deleter(name: string, catalog?: Catalog): Promise<Deleter> {
    return this.deleterOf(await this.writer(name, catalog), catalog);
  }

  deleterOf(writer: SegmentWriter, catalog: Catalog = this.catalog): Deleter {
    return new Deleter({
      catalog,
      writer,
      kind: DELETIONS,
      collectionName: () => COLLECTION,
      clock: () => this.now,
      newId: this.ids,
    });
  }

  async capture(id: string): Promise<Capture | undefined> {
    const question = { urlKey: keyOf(id) as UrlKey, time: Date.parse(CAPTURE_DATE) };
    const [found = []] = await this.catalog.findCaptures([question]);
    return found[0];
  }

  objects(): Promise<Objects> {
    const { bucket, disk } = this.machine('objects');
    return objectsOf(this.kind === 'bucket' ? bucket : disk);
  }

  /** What does not hold (see judge.ts). */
  async judge(): Promise<string[]> {
    return judgeCatalog(this.catalog, await this.objects(), this.book);
  }
}
