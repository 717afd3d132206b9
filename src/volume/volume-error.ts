/**
 * Turns failures of the operating system into failures of a volume. The code says whether a retry can help. Failures
 * that may pass are VOLUME_IO, DISK_FULL or VOLUME_MISSING. Failures that a person must fix (permissions, a file system
 * mounted read-only, a file too large for it) have codes of their own.
 */
import { type ErrorCode, firstFailure, PinakesError } from '../base/index.ts';

export type Doing = 'reading' | 'writing';

const CODES: Readonly<Record<string, ErrorCode | Readonly<Record<Doing, ErrorCode>>>> = {
  EACCES: { reading: 'FILE_UNREADABLE', writing: 'FILE_UNWRITABLE' },
  EDQUOT: 'DISK_FULL',
  EFBIG: 'FILE_UNWRITABLE',
  ENAMETOOLONG: 'FILE_UNWRITABLE',
  ENOENT: 'OBJECT_MISSING',
  ENOSPC: 'DISK_FULL',
  EPERM: { reading: 'FILE_UNREADABLE', writing: 'FILE_UNWRITABLE' },
  EROFS: 'VOLUME_READ_ONLY',
};

/** The name of a system error (`ENOSPC`); undefined for other errors. */
export function systemCode(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || cause instanceof PinakesError) return undefined;
  const { code, syscall } = cause as NodeJS.ErrnoException;
  return typeof code === 'string' && syscall !== undefined ? code : undefined;
}

/** The text that names a volume or an object in errors. */
export function whereIn(volume: string, object?: string): string {
  return object === undefined ? `volume ${volume}` : `volume ${volume}, object ${object}`;
}

/** The error of every call on a closed volume. A volume is closed with its archive. */
export function closedError(volume: string): PinakesError {
  return new PinakesError('ARCHIVE_CLOSED', { where: whereIn(volume) });
}

/** Turns a failure of the system into an error of the volume. Other errors pass unchanged. */
export function volumeError(thrown: unknown, where: string, doing: Doing): unknown {
  const cause = firstFailure(thrown);
  const system = systemCode(cause);
  if (system === undefined) return cause;
  const entry = Object.hasOwn(CODES, system) ? CODES[system]! : 'VOLUME_IO';
  const code = typeof entry === 'string' ? entry : entry[doing];
  return new PinakesError(code, { where, detail: (cause as Error).message, cause });
}
