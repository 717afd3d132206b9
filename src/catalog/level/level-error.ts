/**
 * Failures of LevelDB as errors with a code. Failures that come neither from LevelDB nor from the file system pass
 * through unchanged.
 */
import { fileError, firstFailure, PinakesError } from '../../base/index.ts';
import { DamagedRow } from '../row-bytes.ts';

type Failure = { readonly code?: unknown; readonly message?: unknown; readonly cause?: unknown };

export function levelError(thrown: unknown, where: string): unknown {
  const error = firstFailure(thrown);
  if (error instanceof PinakesError) return error;
  if (error instanceof DamagedRow) {
    return new PinakesError('CATALOG_DAMAGED', { where, detail: error.message, cause: error });
  }
  // A failure to open is wrapped: its cause is the reason.
  for (let failure = error as Failure | null | undefined; failure; failure = failure.cause as Failure | undefined) {
    const translated = translate(failure, where, error);
    if (translated) return translated;
  }
  const { code, cause } = error as Failure;
  if (cause === undefined && NOT_OPEN.test(String(code)))
    return new PinakesError('ARCHIVE_CLOSED', { where, cause: error });
  return fileError(error, where, 'writing');
}

/**
 * The codes of a database, iterator or snapshot that is used after the catalog was closed. A database that cannot be
 * opened has such a code too, with a cause.
 */
const NOT_OPEN = /^LEVEL_(?:BATCH|DATABASE|ITERATOR|SNAPSHOT)_NOT_OPEN$/;

function translate(failure: Failure, where: string, cause: unknown): PinakesError | undefined {
  const says = String(failure.message);
  if (failure.code === 'LEVEL_LOCKED') return new PinakesError('CATALOG_LOCKED', { where, cause });
  // Failures of a read have no code; their messages begin like those of failures with a code.
  if (failure.code === 'LEVEL_CORRUPTION' || says.startsWith('Corruption: ')) {
    return new PinakesError('CATALOG_DAMAGED', { where, detail: says, cause });
  }
  if (failure.code === 'LEVEL_IO_ERROR' || says.startsWith('IO error: ')) {
    return new PinakesError(inputOutputCode(says), { where, detail: says, cause });
  }
  return undefined;
}

/** LevelDB passes on the system's message but not its code. */
function inputOutputCode(says: string): 'DISK_FULL' | 'FILE_UNWRITABLE' | 'CATALOG_DAMAGED' | 'DEVICE_FAILED' {
  if (/no space left|quota exceeded/i.test(says)) return 'DISK_FULL';
  if (/permission denied|read-only file system/i.test(says)) return 'FILE_UNWRITABLE';
  // A table is missing, or so short that its offsets are beyond its end.
  if (/no such file|invalid argument/i.test(says)) return 'CATALOG_DAMAGED';
  return 'DEVICE_FAILED';
}
