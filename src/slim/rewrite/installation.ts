/**
 * Puts a rewritten file in the place of the old one. The old file is there under its name until the moment the new one
 * is, and before that it can be kept elsewhere, so at no moment is a content missing from the disk.
 */
import { linkSync, mkdirSync, renameSync, rmdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileError, PinakesError, syncDirectory } from '../../base/index.ts';
import { hasSameBytes } from '../file-comparison.ts';
import { identityIfThere, sameIdentity } from '../file-identity.ts';
import { ByteCopier } from './byte-copier.ts';

/** Gives the file the name `target`, durably; whatever had it is gone. */
export async function install(temporary: string, target: string): Promise<void> {
  try {
    renameSync(temporary, target);
    await syncDirectory(dirname(target));
  } catch (cause) {
    throw fileError(cause, target, 'writing');
  }
}

/**
 * Makes `kept` a durable second name of the file at `path`, or a compared copy of it on another disk. Doing so again
 * changes nothing; a different file of that name is refused.
 */
export async function keepOriginal(path: string, kept: string): Promise<void> {
  try {
    mkdirSync(dirname(kept), { recursive: true });
    const [here, there] = [identityIfThere(path), identityIfThere(kept)];
    if (there) {
      if (here && (sameIdentity(here, there) || (here.size === there.size && hasSameBytes(path, kept)))) return;
      throw new PinakesError('FILE_EXISTS', { where: kept });
    }
    if (!tryLink(path, kept)) copyDurably(path, kept);
    await syncDirectory(dirname(kept));
  } catch (cause) {
    throw fileError(cause, kept, 'writing');
  }
}

/** Removes what was kept of a file that is in its place, still or again. */
export async function dropOriginal(kept: string): Promise<void> {
  try {
    unlinkSync(kept);
    await syncDirectory(dirname(kept));
  } catch (cause) {
    throw fileError(cause, kept, 'writing');
  }
}

/** What a broken off `keep` or `restore` may have left. */
export function removeLeftovers(path: string, kept: string): void {
  for (const remains of [oldPath(path), temporaryCopy(oldPath(path)), temporaryCopy(kept)])
    rmSync(remains, { force: true });
}

/**
 * Removes the directories between a kept file that is gone and the one for all of them, which the user named, where
 * nothing else is in them.
 */
export function removeEmptyDirectories(keptDirectory: string, name: string): void {
  try {
    for (let way = dirname(name); way !== '.'; way = dirname(way)) rmdirSync(join(keptDirectory, way));
  } catch {
    // Something is in it, or it went with another file.
  }
}

/** Puts a kept file, or a copy of it, back in its place, where another is; it stays kept as well. */
export async function restoreOriginal(kept: string, path: string): Promise<void> {
  const temporary = oldPath(path);
  try {
    if (!tryLink(kept, temporary)) copyDurably(kept, temporary);
  } catch (cause) {
    throw fileError(cause, path, 'writing');
  }
  await install(temporary, path);
}

function oldPath(path: string): string {
  return `${path}.slim-old`;
}

function temporaryCopy(path: string): string {
  return `${path}.tmp`;
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      unlinkSync(to);
      return tryLink(from, to);
    }
    if (code === 'EXDEV' || code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'EMLINK')
      return false;
    throw cause;
  }
}

/** A copy is of the same owner and of the same time. */
function copyDurably(from: string, to: string): void {
  const temporary = temporaryCopy(to);
  const copier = new ByteCopier(from, temporary, true);
  try {
    copier.copyTo(statSync(from).size);
    copier.takeTimes();
    copier.sync();
  } finally {
    copier.close();
  }
  if (!hasSameBytes(from, temporary)) throw new PinakesError('SLIM_READ_BACK', { where: temporary });
  renameSync(temporary, to);
}
