/**
 * Replaces the old file by the rewritten one. The rename is atomic, and the old file can be kept elsewhere before it,
 * so that no content is missing from the disk at any moment.
 */
import { linkSync, mkdirSync, renameSync, rmdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PinakesError, syncDirectory, writingFile } from '../../base/index.ts';
import { hasSameBytes } from '../file-comparison.ts';
import { identityIfThere, sameIdentity } from '../file-identity.ts';
import { ByteCopier } from './byte-copier.ts';

/** Renames the file to `target`, durably. A file of this name is replaced. */
export async function install(temporary: string, target: string): Promise<void> {
  await writingFile(target, async () => {
    renameSync(temporary, target);
    await syncDirectory(dirname(target));
  });
}

/**
 * Makes `kept` a durable second name of the file at `path`, or on another disk a copy that is compared with it.
 * Repeating this changes nothing. Another file with the name `kept` is refused.
 */
export async function keepOriginal(path: string, kept: string): Promise<void> {
  await writingFile(kept, async () => {
    mkdirSync(dirname(kept), { recursive: true });
    const [here, there] = [identityIfThere(path), identityIfThere(kept)];
    if (there) {
      if (here && (sameIdentity(here, there) || (here.size === there.size && hasSameBytes(path, kept)))) return;
      throw new PinakesError('FILE_EXISTS', { where: kept });
    }
    if (!tryLink(path, kept)) copyDurably(path, kept);
    await syncDirectory(dirname(kept));
  });
}

/** Removes the kept old file after the old file is back in its place. */
export async function dropOriginal(kept: string): Promise<void> {
  await writingFile(kept, async () => {
    unlinkSync(kept);
    await syncDirectory(dirname(kept));
  });
}

/** Removes what an interrupted `keepOriginal` or `restoreOriginal` may have left. */
export function removeLeftovers(path: string, kept: string): void {
  for (const leftover of [oldPath(path), temporaryCopy(oldPath(path)), temporaryCopy(kept)])
    rmSync(leftover, { force: true });
}

/**
 * Removes the empty directories between a removed kept file and the directory of all kept files, which the user named.
 */
export function removeEmptyDirectories(keptDirectory: string, name: string): void {
  try {
    for (let path = dirname(name); path !== '.'; path = dirname(path)) rmdirSync(join(keptDirectory, path));
  } catch {
    // The directory is not empty, or is already removed.
  }
}

/** Replaces the file at `path` by the kept file or a copy of it. The kept file stays. */
export async function restoreOriginal(kept: string, path: string): Promise<void> {
  const temporary = oldPath(path);
  writingFile(path, () => {
    if (!tryLink(kept, temporary)) copyDurably(kept, temporary);
  });
  await install(temporary, path);
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The file does not exist, or the next attempt removes it.
  }
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

/** Copies a file with its owner and times, and compares the copy. */
function copyDurably(from: string, to: string): void {
  const temporary = temporaryCopy(to);
  writeComparedCopy(from, temporary, from);
  renameSync(temporary, to);
}

/**
 * Writes a durable copy with the times of `from` and the owner and permissions of `replaced`, and compares it with
 * `from`. A copy that differs is removed.
 */
export function writeComparedCopy(from: string, to: string, replaced: string): void {
  writeCopy(from, to, replaced);
  if (hasSameBytes(from, to)) return;
  removeIfThere(to);
  throw new PinakesError('SLIM_READ_BACK', { where: to });
}

function writeCopy(from: string, to: string, replaced: string): void {
  using copier = new ByteCopier(from, to, replaced);
  copier.copyTo(statSync(from).size);
  copier.copyTimes();
  copier.sync();
}
