/**
 * The bytes of a segment up to the first bytes that the disk cannot read. A volume reads many bytes at a time, so near
 * a bad sector single sectors are read. All readable bytes before the gap are returned. The gap ends at the next
 * readable sector.
 */
import { READ_CHUNK_BYTES, SECTOR_BYTES, sectorRest } from '../../base/index.ts';
import type { SegmentBytes, SegmentStore } from '../../ledger/index.ts';
import { ifGiven, isBadSector } from '../damage.ts';

export type Gap = { readonly from: number; readonly to: number };

export class BytesBeforeGap implements AsyncIterable<Uint8Array> {
  readonly #store: SegmentStore;
  readonly #segment: SegmentBytes;
  readonly #end: number;
  /** The offset of the next bytes. */
  position: number;
  /** The gap, known when all bytes before it were read. Undefined when there is no gap. */
  gap: Gap | undefined;

  constructor(store: SegmentStore, segment: SegmentBytes, from: number, end: number) {
    this.#store = store;
    this.#segment = segment;
    this.#end = end;
    this.position = from;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      try {
        for await (const piece of this.#store.stream(this.#segment, this.position, this.#end)) {
          this.position += piece.length;
          yield piece;
        }
        return;
      } catch (error) {
        if (!isBadSector(error)) throw error;
      }
      for (const end = this.position + READ_CHUNK_BYTES; this.position < Math.min(end, this.#end); ) {
        const sector = await this.#sectorAt(this.position);
        if (!sector) {
          this.gap = { from: this.position, to: await this.#endOfGap() };
          return;
        }
        if (sector.length === 0) return;
        this.position += sector.length;
        yield sector;
      }
    }
  }

  /** Searches for the end of the gap. The steps grow with the gap, since a dying disk takes seconds for each read. */
  async #endOfGap(): Promise<number> {
    for (let to = this.position; ; ) {
      const step = Math.max(SECTOR_BYTES, (to - this.position) / 8);
      to = Math.floor((to + step) / SECTOR_BYTES) * SECTOR_BYTES;
      if (to >= this.#end) return this.#end;
      if (await this.#sectorAt(to)) return to;
    }
  }

  /** The rest of the sector. Undefined when the disk cannot read it. */
  async #sectorAt(offset: number): Promise<Uint8Array | undefined> {
    const length = Math.min(sectorRest(offset), this.#end - offset);
    const [bytes] = (await ifGiven(this.#store.read(this.#segment, [{ offset, length }]))) ?? [];
    return bytes;
  }
}
