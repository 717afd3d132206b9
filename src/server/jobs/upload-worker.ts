/**
 * A thread that looks whether files that were sent are archive files: whether a record can be read near their
 * beginning, or near that of a file in the package that they are.
 */
import { answerJobs, type ErrorCode, PinakesError } from '../../base/index.ts';
import { warcInputs } from '../../warc/index.ts';

/** A file in whose first bytes no record begins is no archive file. */
const LOOK_BYTES = 4 * 1024 * 1024;

const FOREIGN: readonly ErrorCode[] = ['NOT_WACZ', 'NOT_WARC', 'NO_RECORD'];

answerJobs<string, boolean>(async (path) => {
  try {
    for await (const input of warcInputs(path, () => {}))
      for await (const _ of input.read({ end: LOOK_BYTES })) return true;
    return false;
  } catch (error) {
    if (error instanceof PinakesError && FOREIGN.includes(error.code)) return false;
    throw error;
  }
});
