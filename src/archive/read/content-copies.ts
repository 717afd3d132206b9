/**
 * Copies of contents on other volumes than the records that hold them (N9, I15). A copy is the member of such a record,
 * byte for byte (I4), in a pack: an object with the members of several records, which is a WARC file.
 *
 * ```
 *   pack    _copies/<time>-<id>.warc.gz.copies, or .warc.zst.copies with a dictionary first
 *   note    copy:<content>:<volume>/<name of the pack>      offset, length of the member, and length of the pack
 * ```
 * A pack is not a segment: it has no row, its name is not that of one, and no capture is in it. So streams, exports and
 * counts know nothing of it, and an earlier release leaves it alone. Whatever is read from it counts only when size and
 * digest are those of the content.
 */
import { assert, digestOf, equal, PinakesError } from '../../base/index.ts';
import type { Block, BlockKey, CatalogView } from '../../catalog/index.ts';
import { type SegmentStores, sealedBytes } from '../../ledger/index.ts';
import { BlockScanner, dictionaryOfFile, type HttpHead, RecordDecoder, type RecordHead } from '../../warc/index.ts';
import { blockId } from '../revisit/catalog-draft.ts';

export const COPIES_FOLDER = '_copies/';
export const PACK_SUFFIX = '.copies';
const COPY_NOTE = 'copy:';
const DICTIONARY_BYTES_MAX = 8 * 1024 * 1024;

/** A record that is completely in memory. */
export type WholeRecord = {
  readonly head: RecordHead;
  readonly http: HttpHead | undefined;
  /** Head and payload are views of the block. */
  readonly block: Uint8Array;
  /** Body without transfer coding and with its content coding. */
  readonly payload: readonly Uint8Array[];
};

export type CopyPlace = {
  readonly volume: string;
  readonly pack: string;
  readonly packBytes: number;
  readonly offset: number;
  readonly length: number;
};

/** A copy that was read, and whose content is right. */
export type ReadCopy = {
  readonly place: CopyPlace;
  readonly member: Uint8Array;
  readonly record: WholeRecord;
  /** The dictionary that the member was compressed with. */
  readonly dictionary: Uint8Array | undefined;
};

export function copyNote(key: BlockKey, { volume, pack, offset, length, packBytes }: CopyPlace): [string, string] {
  return [`${COPY_NOTE}${blockId(key)}:${volume}/${pack}`, `${offset} ${length} ${packBytes}`];
}

/** All notes about the copies of a content, or of all contents. */
export function copyNotesOf(key?: BlockKey): string {
  return key ? `${COPY_NOTE}${blockId(key)}:` : COPY_NOTE;
}

export function parseCopyNote(name: string, text: string): { readonly id: string; readonly place: CopyPlace } {
  const [, id, volume, pack] = /^copy:([0-9a-f]{64}~\d+):([^/]+)\/(.+)$/.exec(name) ?? [];
  const [offset, length, packBytes] = text.split(' ').map(Number);
  assert(id && volume && pack && packBytes !== undefined, 'a note about a copy names its place');
  return { id, place: { volume, pack, packBytes, offset: offset!, length: length! } };
}

export class ContentCopies {
  readonly #catalog: Pick<CatalogView, 'notes'>;
  readonly #stores: Pick<SegmentStores, 'get'>;
  readonly #fingerprint: (digest: Uint8Array) => Uint8Array;
  readonly #decoder = new RecordDecoder();

  constructor(
    catalog: Pick<CatalogView, 'notes'>,
    stores: Pick<SegmentStores, 'get'>,
    fingerprint: (digest: Uint8Array) => Uint8Array,
  ) {
    this.#catalog = catalog;
    this.#stores = stores;
    this.#fingerprint = fingerprint;
  }

  close(): void {
    this.#decoder.close();
  }

  async placesOf(key: BlockKey): Promise<CopyPlace[]> {
    const notes = Object.entries(await this.#catalog.notes(copyNotesOf(key)));
    return notes.map(([name, text]) => parseCopyNote(name, text).place);
  }

  /** The first copy of a content that is there and right. */
  async read(block: Pick<Block, 'key' | 'size'>): Promise<ReadCopy | undefined> {
    for (const place of await this.placesOf(block.key)) {
      const copy = await this.readAt(place, block);
      if (copy) return copy;
    }
    return undefined;
  }

  /** The copy at a place. Undefined: it is missing, damaged, or of another content. */
  async readAt(place: CopyPlace, { key, size }: Pick<Block, 'key' | 'size'>): Promise<ReadCopy | undefined> {
    try {
      const store = this.#stores.get(place.volume);
      const pack = sealedBytes(place.pack, place.packBytes);
      const isPacked = place.pack.includes('.zst');
      const start = { offset: 0, length: isPacked ? Math.min(place.packBytes, DICTIONARY_BYTES_MAX) : 0 };
      const [head, member] = await store.read(pack, [start, { offset: place.offset, length: place.length }]);
      const dictionary = isPacked ? dictionaryIn(head!) : undefined;
      const record = this.decode(member!, dictionary);
      if (!record || payloadBytes(record) !== size) return undefined;
      return equal(this.#fingerprint(payloadDigest(record)), key.digest)
        ? { place, member: member!, record, dictionary }
        : undefined;
    } catch (error) {
      if (error instanceof PinakesError) return undefined;
      throw error;
    }
  }

  /** The record in a member. Undefined: it is damaged. */
  decode(member: Uint8Array, dictionary: Uint8Array | undefined): WholeRecord | undefined {
    const decoded = this.#decoder.decode(member, dictionary);
    if (!decoded) return undefined;
    const payload: Uint8Array[] = [];
    const scanner = new BlockScanner(decoded.head, { onPayload: (bytes) => payload.push(bytes) });
    if (decoded.block.length > 0) scanner.push(decoded.block);
    const { http } = scanner.end();
    return { head: decoded.head, http, block: decoded.block, payload };
  }
}

export function payloadBytes({ payload }: WholeRecord): number {
  return payload.reduce((sum, piece) => sum + piece.length, 0);
}

export function payloadDigest({ payload }: WholeRecord): Uint8Array {
  return digestOf('sha256', Buffer.concat(payload)).bytes;
}

/** The dictionary that a file begins with. */
export function dictionaryIn(start: Uint8Array): Uint8Array | undefined {
  const bytes = Buffer.from(start);
  if (bytes.length < 8 || bytes.readUInt32LE(0) !== 0x184d2a5d) return undefined;
  const dictionary = dictionaryOfFile(bytes.subarray(0, 8 + bytes.readUInt32LE(4)));
  return dictionary instanceof Uint8Array ? dictionary : undefined;
}
