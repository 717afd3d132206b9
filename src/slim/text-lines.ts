/**
 * The lines of a text file, one after another, through little memory. Only a line feed ends one: an address can hold
 * the other characters that some take for the end of a line. Every line has its end, or the file is not whole.
 */
import { createReadStream } from 'node:fs';
import { fileError, PinakesError } from '../base/index.ts';

const PIECE_BYTES = 1024 * 1024;
/** No text that is meant to be read by lines has longer ones; a file of another kind can have none at all. */
const LINE_CHARACTERS_MAX = 16 * 1024 * 1024;

export async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const piece of createReadStream(path, { encoding: 'utf8', highWaterMark: PIECE_BYTES })) {
      const lines = `${rest}${piece}`.split('\n');
      rest = lines.pop()!;
      yield* lines;
      if (rest.length > LINE_CHARACTERS_MAX) throw unreadable(path, 'it has no end of a line for very long');
    }
  } catch (cause) {
    throw fileError(cause, path);
  }
  if (rest !== '') {
    throw unreadable(path, 'its last line has no end: make it anew if it was cut off, or add the end if it is whole');
  }
}

function unreadable(where: string, detail: string): PinakesError {
  return new PinakesError('MANIFEST_UNREADABLE', { where, detail });
}
