/**
 * Reads the lines of a text file, one after another, with little memory (I9). Only a line feed ends a line, because a
 * URI can contain the other characters that some tools treat as line ends. A last line without a line feed means that
 * the file is incomplete.
 */
import { createReadStream } from 'node:fs';
import { fileError, PinakesError } from '../base/index.ts';

const PIECE_BYTES = 1024 * 1024;
/** Text files do not have longer lines, but a file of another kind can be without any line feed. */
const LINE_CHARACTERS_MAX = 16 * 1024 * 1024;

export async function* readLines(path: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const piece of createReadStream(path, { encoding: 'utf8', highWaterMark: PIECE_BYTES })) {
      const lines = `${rest}${piece}`.split('\n');
      rest = lines.pop()!;
      yield* lines;
      if (rest.length > LINE_CHARACTERS_MAX)
        throw unreadable(path, 'the file has no line end for very long, so it is not a text file');
    }
  } catch (cause) {
    throw fileError(cause, path);
  }
  if (rest !== '') {
    throw unreadable(
      path,
      'the last line has no line end: create the file again if it was cut off, or add the end if it is complete',
    );
  }
}

function unreadable(where: string, detail: string): PinakesError {
  return new PinakesError('MANIFEST_UNREADABLE', { where, detail });
}
