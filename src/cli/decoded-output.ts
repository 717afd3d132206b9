/**
 * Prints bodies on standard output with their content codings removed. A few bytes can decode to gigabytes. So each
 * piece is written before the next is decoded, and between two pieces the program can notice that the reader of its
 * output is gone, or that it should stop.
 */
import { setImmediate } from 'node:timers/promises';
import { ContentDecoders } from '../warc/index.ts';
import type { Terminal } from './terminal.ts';

/**
 * Returns whether the codings could be removed to the end. `codings` is called after the first piece of the payload.
 */
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
      // The write may wait, and a piece is valid only until the next one is requested.
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
