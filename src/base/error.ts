/**
 * The one class for operating failures: failures outside the program that the user can act on. A fault in an input file
 * is a finding, and a fault in Pinakes is an assert; neither uses this class.
 *
 * Every code is in `error-catalogue.ts` and in docs/errors.md.
 */
import { ERROR_CATALOGUE, type ErrorCode } from './error-catalogue.ts';

export type ErrorOptions = {
  /** The file, URL, volume or field concerned. */
  where?: string;
  /** Details beyond the catalogue's sentence. */
  detail?: string;
  cause?: unknown;
};

export class PinakesError extends Error {
  override readonly name = 'PinakesError';
  readonly code: ErrorCode;
  readonly where: string | undefined;
  readonly detail: string | undefined;
  readonly retryable: boolean;
  /** What the user can do about it. */
  readonly advice: string;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    const entry = ERROR_CATALOGUE[code];
    // An empty text that the user typed is shown as ''.
    const where = options.where === undefined ? '' : `${options.where || "''"}: `;
    const detail = options.detail ? ` (${options.detail})` : '';
    super(`${where}${entry.says}${detail}`, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.where = options.where;
    this.detail = options.detail;
    this.retryable = entry.retryable;
    this.advice = entry.advice;
  }
}

/** An argument of the user is not valid. `where` names it: an option with its value, a file, a URL. */
export function badArgument(where: string, detail: string): PinakesError {
  return new PinakesError('BAD_ARGUMENT', { where, detail });
}

const FILE_ERRORS: Readonly<Record<string, ErrorCode>> = {
  EACCES: 'FILE_UNREADABLE',
  EDQUOT: 'DISK_FULL',
  EEXIST: 'FILE_EXISTS',
  EFBIG: 'FILE_UNWRITABLE',
  EIO: 'DEVICE_FAILED',
  EISDIR: 'FILE_IS_DIRECTORY',
  ELOOP: 'FILE_UNREADABLE',
  EMFILE: 'OPEN_FILES_LIMIT',
  ENAMETOOLONG: 'FILE_UNREADABLE',
  ENFILE: 'OPEN_FILES_LIMIT',
  ENODEV: 'DEVICE_FAILED',
  ENOENT: 'FILE_MISSING',
  ENOSPC: 'DISK_FULL',
  ENOTCONN: 'DEVICE_FAILED',
  ENOTDIR: 'FILE_MISSING',
  ENXIO: 'DEVICE_FAILED',
  EPERM: 'FILE_UNREADABLE',
  EROFS: 'FILE_UNWRITABLE',
  ESPIPE: 'FILE_NOT_SEEKABLE',
  ESTALE: 'DEVICE_FAILED',
  ETIMEDOUT: 'DEVICE_FAILED',
};

/** System errors that the catalogue's sentence does not explain; the system's message is added to it. */
const NEEDS_DETAIL = new Set(['EFBIG', 'ELOOP', 'ENAMETOOLONG', 'ENODEV', 'ENOTCONN', 'ENXIO', 'ESTALE', 'ETIMEDOUT']);

/** Failures of the file system that SQLite reports, by its primary result codes. */
const SQLITE_ERRORS: Readonly<Record<number, ErrorCode>> = {
  5: 'FILE_BUSY',
  8: 'FILE_UNWRITABLE',
  10: 'DEVICE_FAILED',
  13: 'DISK_FULL',
  14: 'FILE_UNREADABLE',
};

type SystemFailure = { readonly code?: unknown; readonly errcode?: unknown; readonly message?: unknown };

/**
 * Turns a failure of the file system, reported by the system or by SQLite, into an error with a code. Other failures
 * pass through unchanged.
 */
export function fileError(cause: unknown, where: string, doing: 'reading' | 'writing' = 'reading'): unknown {
  if (cause instanceof SuppressedError) return fileError(firstFailure(cause), where, doing);
  const { code: name, errcode, message } = (cause ?? {}) as SystemFailure;
  if (typeof name !== 'string') return cause;
  const isSqlite = name === 'ERR_SQLITE_ERROR' && typeof errcode === 'number';
  const code = isSqlite
    ? SQLITE_ERRORS[errcode & 0xff]
    : Object.hasOwn(FILE_ERRORS, name)
      ? FILE_ERRORS[name]
      : undefined;
  if (code === undefined) return cause;
  return new PinakesError(code === 'FILE_UNREADABLE' && doing === 'writing' ? 'FILE_UNWRITABLE' : code, {
    where,
    ...((isSqlite || NEEDS_DETAIL.has(name)) && { detail: String(message) }),
    cause,
  });
}

/** The failure of the work when closing its file or database failed too: the first failure says why. */
export function firstFailure(error: unknown): unknown {
  return error instanceof SuppressedError ? firstFailure(error.suppressed) : error;
}

/** Reads a file. A failure of the file system becomes an error that names the file. */
export function readingFile<T>(path: string, read: () => T): T {
  return withNamedFile(path, 'reading', read);
}

/** Writes a file. A failure of the file system becomes an error that names the file. */
export function writingFile<T>(path: string, write: () => T): T {
  return withNamedFile(path, 'writing', write);
}

function withNamedFile<T>(path: string, doing: 'reading' | 'writing', work: () => T): T {
  const fail = (cause: unknown): never => {
    throw fileError(cause, path, doing);
  };
  try {
    const done = work();
    return done instanceof Promise ? (done.catch(fail) as T) : done;
  } catch (cause) {
    return fail(cause);
  }
}
