/**
 * Failures of the operating system as failures of a volume. Whether trying again can help is a matter of the code: what
 * time can mend is a VOLUME_IO, DISK_FULL or VOLUME_MISSING; what only a person can mend (permissions, a file system
 * mounted read-only, a file too large for it) has a code of its own.
 */
import { type ErrorCode, PinakesError } from '../base/index.ts';

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

/** The name of a system error (`ENOSPC`), or undefined when it is none. */
export function systemCode(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || cause instanceof PinakesError) return undefined;
  const { code, syscall } = cause as NodeJS.ErrnoException;
  return typeof code === 'string' && syscall !== undefined ? code : undefined;
}

/** How a place is called in errors. */
export function whereIn(volume: string, object?: string): string {
  return object === undefined ? `volume ${volume}` : `volume ${volume}, object ${object}`;
}

/** The error of whatever is asked of a volume that was closed, as it is with its archive. */
export function closedError(volume: string): PinakesError {
  return new PinakesError('ARCHIVE_CLOSED', { where: whereIn(volume) });
}

/** The error that stands for a failure of the system; everything else passes unchanged. */
export function volumeError(cause: unknown, where: string, doing: Doing): unknown {
  const system = systemCode(cause);
  if (system === undefined) return cause;
  const entry = Object.hasOwn(CODES, system) ? CODES[system]! : 'VOLUME_IO';
  const code = typeof entry === 'string' ? entry : entry[doing];
  return new PinakesError(code, { where, detail: (cause as Error).message, cause });
}
