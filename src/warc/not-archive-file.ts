/**
 * The error for a file in which no record was found: a WACZ file by its name is a broken package, anything else a file
 * of another kind.
 */
import { PinakesError } from '../base/index.ts';

/** `name` is the file as the error names it, and as the person knows it. */
export function notArchiveFile(name: string): PinakesError {
  return new PinakesError(/\.wacz$/i.test(name) ? 'NOT_WACZ' : 'NOT_WARC', { where: name });
}
