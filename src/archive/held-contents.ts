/**
 * Which contents a client may learn of and refer to. A client that may read everything learns of every content of the
 * archive. Any other client learns only of contents in its own collections, and no answer and no look-up for it
 * depends on what other collections hold.
 *
 * A capture without a URL is found by the address of its content. A content of other captures is found by a note that
 * was made when the capture was stored for such a client. The note only points to the capture, which is looked up
 * again, so a wrong or old note finds nothing. A content that is not found is sent and stored once more.
 *
 * ```
 *   note   content-of/<collection>/<hex digest>      <time> <hash of the record id> <URL key>
 * ```
 */
import { equal, toHex } from '../base/index.ts';
import { type Block, type BlockKey, type Capture, rangeOfKey } from '../catalog/index.ts';
import { addressOfContent } from '../ledger/index.ts';
import { type UrlKey, urlKey } from '../url/index.ts';
import type { OpenedArchive } from './opened-archive.ts';

/** `all`: every collection. Otherwise the numbers of the collections that a client may read; empty: none. */
export type ReadableCollections = 'all' | ReadonlySet<number>;

/** What a note keeps of a capture. */
export type NotedCapture = Pick<Capture, 'urlKey' | 'time' | 'hash' | 'collection'> & { readonly digest: Uint8Array };

export class HeldContents {
  readonly #archive: OpenedArchive;

  constructor(archive: OpenedArchive) {
    this.#archive = archive;
  }

  /** The blocks of these contents, in order. Undefined: the client may not learn of the content, or there is none. */
  async find(keys: readonly BlockKey[], readable: ReadableCollections): Promise<(Block | undefined)[]> {
    const { catalog } = this.#archive;
    if (readable === 'all') {
      const blocks = await catalog.getBlocks(keys);
      return blocks.map((block) => (block && block.references > 0 ? block : undefined));
    }
    const isIn = await Promise.all(keys.map((key) => this.#isIn(key, readable)));
    const own = keys.filter((_, index) => isIn[index]);
    const blocks = own.length > 0 ? await catalog.getBlocks(own) : [];
    return isIn.map((found) => (found ? blocks.shift() : undefined));
  }

  /** Notes captures, so that clients that may read their collections find their contents. */
  async note(captures: readonly NotedCapture[]): Promise<void> {
    if (captures.length === 0) return;
    const putNotes = Object.fromEntries(
      captures.map((one) => [noteOf(one.collection, one.digest), `${one.time} ${one.hash} ${one.urlKey}`]),
    );
    await this.#archive.exclusive(() => this.#archive.commitGroup({ putNotes }));
  }

  async #isIn(key: BlockKey, readable: ReadonlySet<number>): Promise<boolean> {
    if (readable.size === 0) return false;
    const isWanted = ({ collection, block }: Capture) => readable.has(collection) && block && isSame(block, key);
    const address = urlKey(addressOfContent(key.digest));
    for await (const page of this.#archive.catalog.captures(rangeOfKey(address))) if (page.some(isWanted)) return true;
    for (const collection of readable) {
      const name = noteOf(collection, key.digest);
      const { [name]: text } = await this.#archive.catalog.notes(name);
      const [, time, ofHash, noted] = /^(\d+) (\d+) (.+)$/.exec(text ?? '') ?? [];
      if (noted === undefined) continue;
      const question = { urlKey: noted as UrlKey, time: Number(time), ofHash: Number(ofHash) };
      const [found] = await this.#archive.catalog.findCaptures([question]);
      if (found!.some(isWanted)) return true;
    }
    return false;
  }
}

function noteOf(collection: number, digest: Uint8Array): string {
  return `content-of/${collection}/${toHex(digest)}`;
}

function isSame(one: BlockKey, other: BlockKey): boolean {
  return one.overflow === other.overflow && equal(one.digest, other.digest);
}
