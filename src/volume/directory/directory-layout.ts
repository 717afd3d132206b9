/**
 * The files of a directory volume, and the repair of what a crash left.
 *
 *     <directory>/.pinakes-volume                     the sentinel
 *     <directory>/<folder>/<object>                   a sealed object
 *     <directory>/<folder>/<object>.open              an unsealed object, named as the field's crawlers name it
 *     <directory>/<folder>/.renamed.<object>          a sealed object that is replacing an unsealed one of its name
 *     <directory>/<folder>/.renamed.<object>.open     an unsealed object that is replacing a sealed one of its name
 *     <directory>/<folder>/.superseded.<n>.<object>   set aside: an unsealed file that differs from the sealed object
 *
 * The seal is in the name because mode bits and sidecar files get lost and names do not: by copying without attributes,
 * in object stores, on other file systems. Sealing is one rename, so a crash leaves one of the two names.
 *
 * Both `x` and `x.open` exist when a copying tool ran once before the sealing and once after it. The sealed file
 * counts. The other file is removed when it is a beginning of the sealed one. Otherwise it is set aside, because bytes
 * that exist only once are never deleted.
 *
 * A `.renamed.` file counts before all others of its name: the new object is complete, and only the old one must still
 * be removed.
 *
 * Other files whose names are not names of objects are left alone and not listed.
 */
import type { Dirent } from 'node:fs';
import { open, readdir, realpath, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { equal, mapLimited, syncDirectory } from '../../base/index.ts';
import { readRange } from '../file-range.ts';
import { isObjectNamePart, OPEN_SUFFIX } from '../object-name.ts';

const RENAMED_PREFIX = '.renamed.';
const SUPERSEDED_PREFIX = '.superseded.';
const COMPARE_BYTES = 1 << 20;
const FOLDERS_AT_ONCE = 8;

export type LaidFile = { readonly name: string; readonly sealed: boolean; readonly renamed: boolean };

export function folderOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('/')));
}

/** The folders of a name, from the volume's own directory to the innermost. */
export function foldersOf(name: string): string[] {
  const folders = [''];
  for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) folders.push(name.slice(0, at));
  return folders;
}

export function pathOf(directory: string, { name, sealed, renamed }: LaidFile): string {
  const base = name.slice(name.lastIndexOf('/') + 1);
  return join(directory, folderOf(name), `${renamed ? RENAMED_PREFIX : ''}${base}${sealed ? '' : OPEN_SUFFIX}`);
}

/** Every object file below a folder, and all folders there, beginning with the folder itself. */
export async function walk(directory: string, folder = ''): Promise<{ files: LaidFile[]; folders: string[] }> {
  const files: LaidFile[] = [];
  const folders = [folder];
  for (let depth = [folder]; depth.length > 0; ) {
    const inside: string[] = [];
    await mapLimited(depth, FOLDERS_AT_ONCE, async (at) => {
      for (const entry of await entriesOf(join(directory, at), at !== '')) {
        const kind = await kindOf(entry, join(directory, at), directory);
        if (kind === 'folder' && isObjectNamePart(entry.name)) inside.push(at ? `${at}/${entry.name}` : entry.name);
        const file = kind === 'file' && laidFile(at, entry.name);
        if (file) files.push(file);
      }
    });
    folders.push(...inside);
    depth = inside;
  }
  return { files, folders };
}

async function entriesOf(path: string, mayBeGone: boolean): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (cause) {
    if (mayBeGone && isGone(cause)) return [];
    throw cause;
  }
}

async function kindOf(entry: Dirent, parent: string, directory: string): Promise<'file' | 'folder' | undefined> {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  if (!entry.isSymbolicLink()) return undefined;
  try {
    const path = join(parent, entry.name);
    const [isFolder, target, here, whole] = await Promise.all([
      stat(path).then((found) => found.isDirectory()),
      realpath(path),
      realpath(parent),
      realpath(directory),
    ]);
    // A link into the volume would make a second object of every file there. A link to a folder above itself would be
    // a circle.
    if (`${target}/`.startsWith(`${whole}/`) || `${here}/`.startsWith(`${target}/`)) return undefined;
    return isFolder ? 'folder' : 'file';
  } catch (cause) {
    if (isGone(cause)) return undefined;
    throw cause;
  }
}

function laidFile(folder: string, file: string): LaidFile | undefined {
  const renamed = file.startsWith(RENAMED_PREFIX);
  const sealed = !file.endsWith(OPEN_SUFFIX);
  const base = file.slice(renamed ? RENAMED_PREFIX.length : 0, sealed ? undefined : -OPEN_SUFFIX.length);
  return isObjectNamePart(base) ? { name: folder ? `${folder}/${base}` : base, sealed, renamed } : undefined;
}

/** The file that counts for each name. */
export function counting(files: readonly LaidFile[]): Map<string, LaidFile> {
  const counts = new Map<string, LaidFile>();
  for (const file of files) {
    const other = counts.get(file.name);
    if (!other || rank(file) > rank(other)) counts.set(file.name, file);
  }
  return counts;
}

function rank(file: LaidFile): number {
  return (file.renamed ? 2 : 0) + (file.sealed ? 1 : 0);
}

/** Repairs what a crash or a copying tool left. Returns the paths of files that were set aside. */
export async function settle(directory: string, files: readonly LaidFile[]): Promise<string[]> {
  const setAside: string[] = [];
  const winners = counting(files);
  for (const winner of winners.values()) if (winner.renamed) await finishRename(directory, winner);
  for (const file of files) {
    const winner = winners.get(file.name)!;
    if (file !== winner && !winner.renamed) await supersede(directory, winner, file, setAside);
  }
  return setAside;
}

/** The second half of a rename in which only one of the two objects is sealed. */
export async function finishRename(directory: string, file: LaidFile): Promise<void> {
  const replaced = pathOf(directory, { ...file, sealed: !file.sealed, renamed: false });
  await unlink(replaced).catch(unlessGone);
  // Without this sync, the rename could reach the disk before the removal, and the old object could count again.
  await syncDirectory(join(directory, folderOf(file.name)));
  await rename(pathOf(directory, file), pathOf(directory, { ...file, renamed: false }));
}

async function supersede(directory: string, sealed: LaidFile, other: LaidFile, setAside: string[]): Promise<void> {
  const path = pathOf(directory, other);
  if (await isBeginning(path, pathOf(directory, sealed))) {
    await unlink(path);
    return;
  }
  const base = other.name.slice(other.name.lastIndexOf('/') + 1);
  for (let number = 1; ; number++) {
    const aside = join(directory, folderOf(other.name), `${SUPERSEDED_PREFIX}${number}.${base}`);
    if (await exists(aside)) continue;
    await rename(path, aside);
    setAside.push(aside);
    return;
  }
}

async function isBeginning(short: string, long: string): Promise<boolean> {
  await using a = await open(short);
  await using b = await open(long);
  for (let offset = 0; ; offset += COMPARE_BYTES) {
    const piece = await readRange(a, offset, COMPARE_BYTES);
    if (piece.length === 0) return true;
    if (!equal(piece, await readRange(b, offset, piece.length))) return false;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(unlessGone)) !== undefined;
}

export function isGone(cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

export function unlessGone(cause: unknown): undefined {
  if (!isGone(cause)) throw cause;
}
