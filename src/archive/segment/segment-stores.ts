/** The volumes of an archive as the ledger writes to them. */
import { AppendingStore, PartStore, type SegmentStore, type SegmentStores } from '../../ledger/index.ts';
import { type AnyVolume, isPartVolume, type PartVolume } from '../../volume/index.ts';
import type { NodeActivities } from './node-activity.ts';
import { ObservedStore } from './observed-store.ts';
import type { VolumeSet } from './volume-set.ts';

export class VolumeStores implements SegmentStores {
  readonly #volumes: VolumeSet;
  readonly #nodes: NodeActivities | undefined;
  /** A volume that was opened again has another store. */
  readonly #stores = new WeakMap<AnyVolume, SegmentStore>();

  /** With `nodes`, requests are counted there. */
  constructor(volumes: VolumeSet, nodes?: NodeActivities) {
    this.#volumes = volumes;
    this.#nodes = nodes;
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
    const known = this.#stores.get(volume);
    if (known) return known;
    const made = isPartVolume(volume) ? this.#partStoreOf(volume) : new AppendingStore(volume);
    const store = this.#nodes ? new ObservedStore(made, this.#nodes.of(volume.name)) : made;
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
