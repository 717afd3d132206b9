/**
 * A thread that checks whether an uploaded file is an archive file: whether a record can be read near its start, or
 * near the start of a file in the package.
 */
import { answerJobs, type ErrorCode, PinakesError } from '../../base/index.ts';
import { warcInputs } from '../../warc/index.ts';

/** An archive file has a record that begins within this many bytes. */
const CHECKED_BYTES = 4 * 1024 * 1024;

const NOT_ARCHIVE_CODES: readonly ErrorCode[] = ['NOT_WACZ', 'NOT_WARC', 'NO_RECORD'];

answerJobs<string, boolean>(async (path) => {
  try {
    for await (const input of warcInputs(path, () => {}))
      for await (const _ of input.read({ end: CHECKED_BYTES })) return true;
    return false;
  } catch (error) {
    if (error instanceof PinakesError && NOT_ARCHIVE_CODES.includes(error.code)) return false;
    throw error;
  }
});
