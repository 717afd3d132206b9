/**
 * The lines of a text file, one after another, through little memory. Only a line feed ends one: an address can hold the other characters that some take for
 * the end of a line. Every line has its end, or the file is not whole.
 */
import { createReadStream } from 'node:fs';
import { fileError, PinakesError } from '../base/index.ts';

const PIECE_BYTES = 1024 * 1024;

export async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const piece of createReadStream(path, { encoding: 'utf8', highWaterMark: PIECE_BYTES })) {
      const lines = `${rest}${piece}`.split('\n');
      rest = lines.pop()!;
      yield* lines;
    }
  } catch (cause) {
    throw fileError(cause, path);
  }
  if (rest !== '') {
    throw new PinakesError('MANIFEST_UNREADABLE', { where: path, detail: 'its last line has no end: is it cut off?' });
  }
}
