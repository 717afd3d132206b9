/**
 * The payload of a block, in pieces as the block arrives: the body without transfer coding and with its content coding.
 */
import { BlockScanner, type RecordHead } from '../../warc/index.ts';

export async function* payloadOfBlock(head: RecordHead, block: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  const scanner = new BlockScanner(head, { onPayload: (bytes) => held.push(Buffer.from(bytes)) });
  for await (const piece of block) {
    scanner.push(piece);
    yield* held;
    held = [];
  }
  scanner.end();
  yield* held;
}
