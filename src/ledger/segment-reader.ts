/**
 * Reads records of segments by the catalog's rows, while writers grow, seal and replace the segments (I14). A reader
 * has no lease. Between asking for the row and reading the bytes, the segment may have been sealed and its parts
 * removed, or compacted away: then the row is asked for again.
 */
import { PinakesError } from '../base/index.ts';
import type { CatalogView, Place, Segment } from '../catalog/index.ts';
import type { SegmentStores } from './segment-store.ts';

const TRIES = 4;

export class SegmentReader {
  readonly #catalog: Pick<CatalogView, 'segment'>;
  readonly #stores: Pick<SegmentStores, 'get'>;

  constructor(catalog: Pick<CatalogView, 'segment'>, stores: Pick<SegmentStores, 'get'>) {
    this.#catalog = catalog;
    this.#stores = stores;
  }

  /**
   * The member at a place. Undefined when the catalog has no such segment any more: the capture was moved by compaction
   * or deleted, so the caller asks for the capture again. Fails with OBJECT_MISSING when the bytes are gone although
   * the row says that they are there.
   */
  async read({ segment: number, offset, length }: Place): Promise<Uint8Array | undefined> {
    for (let tried = 1; ; tried++) {
      const segment = await this.#catalog.segment(number);
      if (!segment) return undefined;
      try {
        const [bytes] = await this.#stores.get(segment.volume).read(segment, [{ offset, length }]);
        return bytes;
      } catch (error) {
        if (!isMissing(error) || tried === TRIES || !(await this.#hasChanged(segment))) throw error;
      }
    }
  }

  async #hasChanged({ number, state, name }: Segment): Promise<boolean> {
    const now = await this.#catalog.segment(number);
    return now?.state !== state || now.name !== name;
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof PinakesError && error.code === 'OBJECT_MISSING';
}
