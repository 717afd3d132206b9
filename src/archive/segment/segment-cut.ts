/**
 * Where a segment can be cut between two records without being read from its beginning.
 *
 * What looks like the start of a gzip member may be part of a stored file that is itself compressed. So a place counts
 * only when the catalog says that a capture's record stands exactly there.
 */
import type { Segment } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import { RecordDecoder } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

const MEMBER_START = Buffer.of(0x1f, 0x8b, 0x08);
/** So much of a member tells the head of its record, but for very long ones. */
const HEAD_START_BYTES = 4 * 1024;
/**
 * Places that are looked at in one go. Compressed bytes look like a member's start once in 16 MiB; only a hostile file
 * has more.
 */
const CANDIDATES_MAX = 16;

export class SegmentCut implements Disposable {
  readonly #archive: Pick<OpenedArchive, 'catalog'>;
  readonly #decoder = new RecordDecoder();

  constructor(archive: Pick<OpenedArchive, 'catalog'>) {
    this.#archive = archive;
  }

  [Symbol.dispose](): void {
    this.#decoder.close();
  }

  /**
   * The first offset from `from` on at which a capture's record begins, in bytes of a segment that begin at `at`;
   * undefined when none is found in them.
   */
  async find(segment: Segment, bytes: Uint8Array, at: number, from: number): Promise<number | undefined> {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let index = Math.max(0, from - at) - 1;
    for (let candidates = 0; candidates < CANDIDATES_MAX; candidates++) {
      index = view.indexOf(MEMBER_START, index + 1);
      if (index < 0) return undefined;
      const start = view.subarray(index, index + HEAD_START_BYTES);
      if (await this.#isCapture(segment, start, at + index)) return at + index;
    }
    return undefined;
  }

  async #isCapture(segment: Segment, start: Uint8Array, offset: number): Promise<boolean> {
    const head = this.#decoder.decodeHead(start);
    if (head?.targetUri === undefined || head.time === undefined) return false;
    const at = { segment: segment.number, offset };
    const [found] = await this.#archive.catalog.findCaptures([{ urlKey: urlKey(head.targetUri), time: head.time, at }]);
    return found!.length > 0;
  }
}
