/**
 * The one class for operating failures: things that go wrong outside the program and that the user can act on. What is wrong in an input file
 * is a finding, and what is wrong in Pinakes is an assert; neither is one of these.
 *
 * Every code stands in `error-catalogue.ts` and in docs/errors.md.
 */
import { ERROR_CATALOGUE, type ErrorCode } from './error-catalogue.ts';

export type ErrorOptions = {
  /** The file, URL, volume or field it happened at. */
  where?: string;
  /** Particulars beyond the catalogue's sentence. */
  detail?: string;
  cause?: unknown;
};

export class PinakesError extends Error {
  override readonly name = 'PinakesError';
  readonly code: ErrorCode;
  readonly where: string | undefined;
  readonly retryable: boolean;
  /** What the user can do about it. */
  readonly advice: string;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    const entry = ERROR_CATALOGUE[code];
    const where = options.where ? `${options.where}: ` : '';
    const detail = options.detail ? ` (${options.detail})` : '';
    super(`${where}${entry.says}${detail}`, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.where = options.where;
    this.retryable = entry.retryable;
    this.advice = entry.advice;
  }
}

/** Turns a failure of the file system into an error with a code; lets everything else through unchanged. */
export function fileError(cause: unknown, where: string): unknown {
  const code = (cause as { code?: unknown } | undefined)?.code;
  if (code === 'ENOENT') return new PinakesError('FILE_MISSING', { where, cause });
  if (code === 'EACCES' || code === 'EPERM') return new PinakesError('FILE_UNREADABLE', { where, cause });
  if (code === 'ENOSPC' || code === 'EDQUOT') return new PinakesError('DISK_FULL', { where, cause });
  if (code === 'EISDIR') return new PinakesError('FILE_IS_DIRECTORY', { where, cause });
  return cause;
}
