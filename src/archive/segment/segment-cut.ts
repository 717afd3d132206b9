/**
 * Where a segment can be cut between two records without being read from its beginning.
 *
 * Bytes that look like the start of a gzip member may belong to a stored file that is itself compressed. So a segment
 * is cut at a place only when the catalog has a capture whose record begins exactly there.
 */
import type { Segment } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import { RecordDecoder } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

const MEMBER_START = Buffer.of(0x1f, 0x8b, 0x08);
/** This many bytes of a member contain the head of its record, unless the head is very long. */
const HEAD_START_BYTES = 4 * 1024;
/**
 * The most places that are examined in one call. Random bytes look like the start of a member once in 16 MiB, so only a
 * hostile file has more places.
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
   * The first offset, not before `from`, at which the record of a capture begins. `bytes` begin at the offset `at`.
   * Undefined when they contain none.
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
