/** The error for a file without any record. A file named .wacz is a broken package; any other file is not a WARC. */
import { PinakesError } from '../base/index.ts';

/** `name` is the name of the file in the error, as the user gave it. */
export function notArchiveFile(name: string): PinakesError {
  return new PinakesError(/\.wacz$/i.test(name) ? 'NOT_WACZ' : 'NOT_WARC', { where: name });
}
