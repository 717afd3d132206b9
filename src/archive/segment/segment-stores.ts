/** The volumes of an archive as the ledger writes to them. */
import { AppendingStore, type SegmentStore, type SegmentStores } from '../../ledger/index.ts';
import type { Volume } from '../../volume/index.ts';
import type { VolumeSet } from './volume-set.ts';

export class VolumeStores implements SegmentStores {
  readonly #volumes: VolumeSet;
  /** A volume that was opened again has another store. */
  readonly #stores = new WeakMap<Volume, SegmentStore>();

  constructor(volumes: VolumeSet) {
    this.#volumes = volumes;
  }

  get(volume: string): SegmentStore {
    return this.#storeOf(this.#volumes.named(volume));
  }

  available(): SegmentStore[] {
    return this.#volumes.available().map((volume) => this.#storeOf(volume));
  }

  writable(): SegmentStore[] {
    return this.#volumes.writable().map((volume) => this.#storeOf(volume));
  }

  #storeOf(volume: Volume): SegmentStore {
    const store = this.#stores.get(volume) ?? new AppendingStore(volume);
    this.#stores.set(volume, store);
    return store;
  }
}
