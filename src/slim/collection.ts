/**
 * The files of a run: each with its name within the collection, where its new version goes, and where the old one is
 * kept. Fixed when the run begins, in byte order of the paths, so that every part of a run and every resumed run sees
 * the same order.
 */
import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileError, PinakesError, VolumeFinder } from '../base/index.ts';
import { identityIfThere } from './file-identity.ts';

/** A file as the caller found it: `root` is the directory it was found under, or its own path. */
export type CollectionInput = { readonly path: string; readonly root: string };

export type CollectionFile = {
  /** Absolute, with symbolic links resolved. */
  readonly path: string;
  /** Relative to the root, or the file's own name; different for every file. */
  readonly name: string;
  readonly isArc: boolean;
  /** Where the file is to be in the end: its own path, or a path below the target. */
  readonly target: string;
};

/** What the names of ARC files end with. */
export const ARC_NAME = /\.arc(\.gz)?$/i;
const UNLISTABLE = /[\t\r\n\ufffd]/;

export function collectionOf(inputs: readonly CollectionInput[], target: string | undefined): CollectionFile[] {
  const byPath = new Map<string, CollectionFile>();
  const names = new Set<string>();
  const volumes = new VolumeFinder();
  for (const { path, root } of inputs) {
    const real = realPath(path);
    if (byPath.has(real)) continue;
    if (target === undefined) refuseArchived(path, volumes.find(real));
    const name = uniqueName(resolve(path) === resolve(root) ? basename(path) : relative(root, path), names);
    refuseUnlistable(real);
    byPath.set(real, { path: real, name, isArc: ARC_NAME.test(name), target: real });
  }
  const files = [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return target === undefined
    ? files
    : files.map((file) => ({ ...file, target: join(resolve(target), placeOf(file, names)) }));
}

/**
 * Where a file goes below the target. An ARC file becomes a WARC file, beside one that has that name already where
 * there is one.
 */
function placeOf({ name, isArc }: CollectionFile, names: Set<string>): string {
  return isArc ? uniqueName(warcName(name), names) : name;
}

/** What stands in manifests, a line a record, must have no line ends and tabs. */
export function refuseUnlistable(path: string): void {
  if (!UNLISTABLE.test(path)) return;
  throw new PinakesError('BAD_ARGUMENT', {
    where: JSON.stringify(path),
    detail: 'rename it: line ends and tabs cannot be listed',
  });
}

/**
 * Refuses a directory for old or new files in which the next run would look for files of the collection: it would take
 * the one for duplicates of the other, and whoever then removes what was kept removes contents. Directories that begin
 * with a dot are not looked into.
 */
export function expectApart(directory: string, inputs: readonly CollectionInput[], option: string): void {
  const place = realPlace(directory);
  const roots = new Set(inputs.flatMap(({ path, root }) => (resolve(path) === resolve(root) ? [] : [root])));
  for (const root of roots) {
    const way = relative(realPath(root), place).split(sep);
    if (way[0] === '..' || isAbsolute(way[0]!) || way.some((name) => name.startsWith('.'))) continue;
    const detail = `it lies in the collection, ${root}; name a directory outside of it`;
    throw new PinakesError('BAD_ARGUMENT', { where: `${option} ${directory}`, detail });
  }
}

/**
 * Refuses a directory that keeps other files of the same names: of each only one can be there, and an earlier run may
 * need its own for undo.
 */
export function expectRoom(keptDirectory: string, files: readonly CollectionFile[]): void {
  const place = realPlace(keptDirectory);
  for (const { path, name } of files) {
    const kept = join(place, name);
    const [here, there] = [identityIfThere(path), identityIfThere(kept)];
    if (there && (here?.size !== there.size || realPath(kept) === path)) {
      throw new PinakesError('SLIM_KEPT_BEFORE', { where: join(keptDirectory, name) });
    }
  }
}

/** With symbolic links resolved as far as the directory is there. */
function realPlace(directory: string): string {
  const path = resolve(directory);
  const above = dirname(path);
  return existsSync(path) || above === path ? realPath(path) : join(realPlace(above), basename(path));
}

/**
 * The segments of an archive hold what its catalog says they hold; exchanged behind its back they would be taken for
 * damaged.
 */
function refuseArchived(path: string, volume: string | undefined): void {
  if (volume === undefined) return;
  const detail = `it belongs to the volume of an archive in ${volume}, which keeps every content once by itself; leave it out, or write elsewhere with --to`;
  throw new PinakesError('BAD_ARGUMENT', { where: path, detail });
}

/** Files of several roots can have one name; ids, kept copies and new files need different ones. */
function uniqueName(name: string, names: Set<string>): string {
  let unique = name;
  for (let number = 2; names.has(unique); number++) unique = join(dirname(name), `${number}~${basename(name)}`);
  names.add(unique);
  return unique;
}

/** An ARC file's name as that of a WARC file with the same compression. */
function warcName(name: string): string {
  return name.replace(ARC_NAME, (_, gz: string | undefined) => `.warc${gz ?? ''}`);
}

/** With symbolic links resolved. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    throw fileError(cause, path);
  }
}

export function saveCollection(path: string, files: readonly CollectionFile[]): void {
  try {
    writeFileSync(`${path}.tmp`, files.map((file) => `${JSON.stringify(file)}\n`).join(''), { flush: true });
    renameSync(`${path}.tmp`, path);
  } catch (cause) {
    throw fileError(cause, path, 'writing');
  }
}

export function loadCollection(path: string): CollectionFile[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as CollectionFile]));
  } catch (cause) {
    throw fileError(cause, path);
  }
}
