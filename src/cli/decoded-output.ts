/**
 * Bodies with their content codings taken off, on standard output. A few bytes can decode to gigabytes: each piece is
 * written before the next is decoded, and between two of them the program hears that the reader has left, or that it is
 * to stop.
 */
import { setImmediate } from 'node:timers/promises';
import { ContentDecoders } from '../warc/index.ts';
import type { Terminal } from './terminal.ts';

/** Says whether the codings could be removed throughout. They are asked for when the first of the payload has come. */
export async function printDecoded(
  terminal: Terminal,
  payload: AsyncIterable<Uint8Array>,
  codings: () => readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  let decoders: ContentDecoders | undefined;
  const print = async (pieces: Iterable<Uint8Array>) => {
    for (const piece of pieces) {
      signal.throwIfAborted();
      // What is written may wait, and a piece is good until the next is asked for.
      await terminal.write(Buffer.from(piece));
      await setImmediate();
    }
  };
  try {
    for await (const piece of payload) {
      decoders ??= new ContentDecoders(codings());
      await print(decoders.decoded(piece));
    }
    if (decoders) await print(decoders.rest());
  } finally {
    decoders?.end();
  }
  return !decoders?.isBroken;
}
