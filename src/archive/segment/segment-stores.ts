/** The volumes of an archive as the ledger writes to them. */
import { AppendingStore, PartStore, type SegmentStore, type SegmentStores } from '../../ledger/index.ts';
import { type AnyVolume, isPartVolume, type PartVolume } from '../../volume/index.ts';
import type { VolumeSet } from './volume-set.ts';

export class VolumeStores implements SegmentStores {
  readonly #volumes: VolumeSet;
  /** A volume that was opened again has another store. */
  readonly #stores = new WeakMap<AnyVolume, SegmentStore>();

  constructor(volumes: VolumeSet) {
    this.#volumes = volumes;
  }

  get(volume: string): SegmentStore {
    return this.#storeOf(this.#volumes.get(volume));
  }

  available(): SegmentStore[] {
    return this.#volumes.available().map((volume) => this.#storeOf(volume));
  }

  writable(): SegmentStore[] {
    return this.#volumes.writable().map((volume) => this.#storeOf(volume));
  }

  #storeOf(volume: AnyVolume): SegmentStore {
    const store =
      this.#stores.get(volume) ?? (isPartVolume(volume) ? this.#partStoreOf(volume) : new AppendingStore(volume));
    this.#stores.set(volume, store);
    return store;
  }

  #partStoreOf(volume: PartVolume): PartStore {
    const owner = this.#volumes.ownerOf(volume.name);
    if (!owner) return new PartStore(volume);
    return new PartStore(volume, {
      ownerNumber: owner.number,
      assertOwned: () => owner.assertOwned(),
      assertNotLost: () => owner.assertNotLost(),
    });
  }
}
