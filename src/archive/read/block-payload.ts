/**
 * Streams the payload of a block while the block arrives: the body with its transfer coding removed and its content
 * coding kept.
 */
import { BlockScanner, type RecordHead } from '../../warc/index.ts';

export async function* payloadOfBlock(head: RecordHead, block: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array[] = [];
  const scanner = new BlockScanner(head, { onPayload: (bytes) => pending.push(Buffer.from(bytes)) });
  for await (const piece of block) {
    scanner.push(piece);
    yield* pending;
    pending = [];
  }
  scanner.end();
  yield* pending;
}
