/**
 * The files of a run, each with its name within the collection and the path of its new version. The list is fixed when
 * the run starts, in the order of the paths, so that every phase and every resumed run sees the same order.
 */
import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { badArgument, PinakesError, readingFile, VolumeFinder, writingFile } from '../base/index.ts';
import { identityIfThere } from './file-identity.ts';

/** A file that the caller found: `root` is the directory that was searched, or the path of the file itself. */
export type CollectionInput = { readonly path: string; readonly root: string };

export type CollectionFile = {
  /** Absolute, with symbolic links resolved. */
  readonly path: string;
  /** The path relative to the root, or the file name; unique in the collection. */
  readonly name: string;
  readonly isArc: boolean;
  /** The path of the file after the run: its own path, or a path below the target. */
  readonly target: string;
};

/** The ending of the names of ARC files. */
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
    : files.map((file) => ({ ...file, target: join(resolve(target), targetName(file, names)) }));
}

/**
 * The path of a file below the target. An ARC file gets the name of a WARC file, numbered when that name is taken.
 */
function targetName({ name, isArc }: CollectionFile, names: Set<string>): string {
  return isArc ? uniqueName(warcName(name), names) : name;
}

/** Refuses a path with line ends or tabs, because a manifest has one line per record with tabs between the values. */
export function refuseUnlistable(path: string): void {
  if (!UNLISTABLE.test(path)) return;
  throw badArgument(JSON.stringify(path), 'rename the file: a manifest cannot contain names with line ends or tabs');
}

/**
 * Refuses a directory for old or new files that lies inside the collection. The next run would treat the new files as
 * duplicates of the old ones, and removing the kept files would then remove contents. Directories whose name starts
 * with a dot are not searched, and so are allowed.
 */
export function refuseInsideCollection(directory: string, inputs: readonly CollectionInput[], option: string): void {
  const place = realPlace(directory);
  const roots = new Set(inputs.flatMap(({ path, root }) => (resolve(path) === resolve(root) ? [] : [root])));
  for (const root of roots) {
    const way = relative(realPath(root), place).split(sep);
    if (way[0] === '..' || isAbsolute(way[0]!) || way.some((name) => name.startsWith('.'))) continue;
    const detail = `the directory is inside the collection, ${root}; name one outside of it`;
    throw badArgument(`${option} ${directory}`, detail);
  }
}

/**
 * Refuses a directory that already contains other files of the same names: an earlier run may need them for undo.
 */
export function refuseOccupied(keptDirectory: string, files: readonly CollectionFile[]): void {
  const place = realPlace(keptDirectory);
  for (const { path, name } of files) {
    const kept = join(place, name);
    const [here, there] = [identityIfThere(path), identityIfThere(kept)];
    if (there && (here?.size !== there.size || realPath(kept) === path)) {
      throw new PinakesError('SLIM_KEPT_BEFORE', { where: join(keptDirectory, name) });
    }
  }
}

/** Resolves symbolic links in the part of the path that exists. */
function realPlace(directory: string): string {
  const path = resolve(directory);
  const above = dirname(path);
  return existsSync(path) || above === path ? realPath(path) : join(realPlace(above), basename(path));
}

/**
 * Refuses to rewrite the segments of an archive. The archive would find that they do not match its catalog, and report
 * them as damaged.
 */
function refuseArchived(path: string, volume: string | undefined): void {
  if (volume === undefined) return;
  const detail = `the file belongs to the volume of an archive in ${volume}, which already stores every content once; leave it out, or write elsewhere with --to`;
  throw badArgument(path, detail);
}

/** Files of several roots can have the same name, but record ids, kept copies and new files need unique names. */
function uniqueName(name: string, names: Set<string>): string {
  let unique = name;
  for (let number = 2; names.has(unique); number++) unique = join(dirname(name), `${number}~${basename(name)}`);
  names.add(unique);
  return unique;
}

/** The name of an ARC file, with the ending of a WARC file of the same compression. */
export function warcName(name: string): string {
  return name.replace(ARC_NAME, (_, gz: string | undefined) => `.warc${gz ?? ''}`);
}

/** The path with symbolic links resolved. */
export function realPath(path: string): string {
  return readingFile(path, () => realpathSync(path));
}

export function saveCollection(path: string, files: readonly CollectionFile[]): void {
  writingFile(path, () => {
    writeFileSync(`${path}.tmp`, files.map((file) => `${JSON.stringify(file)}\n`).join(''), { flush: true });
    renameSync(`${path}.tmp`, path);
  });
}

export function loadCollection(path: string): CollectionFile[] {
  return readingFile(path, () => {
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as CollectionFile]));
  });
}
