/**
 * Finds bytes of barred contents, and records of barred URLs, in a file of any kind. Every record is read and hashed,
 * whatever the catalog says of it:
 *
 * - a record whose payload, framed payload or block has a barred digest, dead or replaced ones included
 * - a record, not a revisit, that declares a barred digest: its bytes may be damaged
 * - a record of a barred URL
 * - a file without records whose bytes have a barred digest
 *
 * Memory does not grow with the file.
 */
import { type Finding, parseDigest, RunningDigest, toHex } from '../../base/index.ts';
import type { Bar } from '../../catalog/index.ts';
import { type UrlKey, urlKey } from '../../url/index.ts';
import { BlockScanner, type ReadingRecord, type RecordHead } from '../../warc/index.ts';
import type { FoundBytes } from '../takedown/log-entry.ts';

export type MatchedBytes = Pick<FoundBytes, 'offset' | 'why' | 'what'>;

export class BarredMatch {
  readonly #contents: ReadonlySet<string>;
  readonly #urls: ReadonlySet<UrlKey>;

  constructor(bars: readonly Bar[]) {
    this.#contents = new Set(bars.flatMap((bar) => (bar.kind === 'content' ? [toHex(bar.digest)] : [])));
    this.#urls = new Set(bars.flatMap((bar) => (bar.kind === 'url' ? [bar.urlKey] : [])));
  }

  /** Reads a record to its end. `isSure`: its bytes are as written, or it says itself what they were. */
  async ofRecord(
    record: ReadingRecord,
  ): Promise<{ readonly found: MatchedBytes | undefined; readonly isSure: boolean }> {
    const { head } = record;
    const scanner = new BlockScanner(head, { block: ['sha256'], payload: ['sha256'], framed: ['sha256'] });
    for await (const piece of record.body()) scanner.push(piece);
    const { blockDigests, payloadDigests, framedDigests } = scanner.end();
    const declared = declaredContent(head);
    const offset = head.offset;
    for (const { bytes } of [...payloadDigests, ...framedDigests, ...blockDigests]) {
      const hex = toHex(bytes);
      if (this.#contents.has(hex)) return { found: { offset, why: 'content', what: `sha256:${hex}` }, isSure: true };
    }
    if (declared !== undefined && head.type !== 'revisit' && this.#contents.has(declared))
      return { found: { offset, why: 'declared content', what: `sha256:${declared}` }, isSure: true };
    const key = keyOf(head.targetUri);
    if (key !== undefined && this.#urls.has(key)) return { found: { offset, why: 'url', what: key }, isSure: true };
    const isWhole = (record.tail?.isComplete ?? false) && record.damage.every(isHarmless);
    return { found: undefined, isSure: isWhole || declared !== undefined };
  }

  async ofFile(pieces: AsyncIterable<Uint8Array>): Promise<MatchedBytes | undefined> {
    const digest = new RunningDigest('sha256');
    for await (const piece of pieces) digest.update(piece);
    const hex = toHex(digest.finish().bytes);
    return this.#contents.has(hex) ? { offset: 0, why: 'file', what: `sha256:${hex}` } : undefined;
  }
}

function isHarmless({ level }: Finding): boolean {
  return level !== 'error';
}

function declaredContent(head: RecordHead): string | undefined {
  const digest = parseDigest(head.get('warc-payload-digest') ?? '');
  return digest?.algorithm === 'sha256' ? toHex(digest.bytes) : undefined;
}

function keyOf(url: string | undefined): UrlKey | undefined {
  return url === undefined ? undefined : urlKey(url);
}
