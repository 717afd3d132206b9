/**
 * The places in which bytes of an archive may be: its volumes, its directory with spool, uploads and exports, its
 * mirrors, directories that the caller names. A place in a file system is walked file by file, hidden and unlisted
 * files included. On other volumes every object is read, and what the volume keeps besides its objects.
 */
import type { Dirent } from 'node:fs';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileError, PinakesError } from '../../base/index.ts';
import { type SegmentStore, sealedBytes } from '../../ledger/index.ts';

export type SearchedFile = {
  /** Its name in the place. */
  readonly name: string;
  readonly bytes: number;
  /** Its path, in a file system. A package can only be opened by it. */
  readonly path?: string | undefined;
  open(): AsyncIterable<Uint8Array>;
};

export type SearchPlace = {
  readonly name: string;
  /**
   * Whether its list names files that are elsewhere. One that is missing may be on a disk that is away, while in other
   * places it was removed since it was listed.
   */
  readonly isLinked?: boolean | undefined;
  /** Throws when the place cannot be listed. */
  files(): AsyncIterable<SearchedFile>;
};

/**
 * What a bucket keeps besides its objects: earlier versions of objects, and the parts of uploads that were begun. A
 * volume that can keep such bytes has these methods.
 */
export interface KeptBesides {
  /** Versions that are not current, and those under delete markers. */
  versions(prefix: string): AsyncIterable<readonly KeptVersion[]>;
  streamVersion(version: Pick<KeptVersion, 'name' | 'versionId'>): AsyncIterable<Uint8Array>;
  unfinishedUploads(prefix: string): AsyncIterable<readonly UnfinishedUpload[]>;
}

export type KeptVersion = {
  readonly name: string;
  readonly versionId: string;
  readonly isLatest: boolean;
  readonly bytes: number;
  /** It says that the object was removed, and has no bytes. */
  readonly isDeleteMarker: boolean;
};

export type UnfinishedUpload = { readonly name: string; readonly id: string };

/** All files below a directory, except those for which `isLeftOut` says so. Links to folders are not followed. */
export function directoryPlace(
  name: string,
  directory: string,
  isLeftOut: (path: string) => boolean = () => false,
): SearchPlace {
  return { name, files: () => filesBelow(directory, directory, isLeftOut) };
}

async function* filesBelow(
  root: string,
  directory: string,
  isLeftOut: (path: string) => boolean,
): AsyncGenerator<SearchedFile> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException): Dirent[] => {
    // It was removed since its parent was listed.
    if (cause.code === 'ENOENT' && directory !== root) return [];
    throw fileError(cause, directory);
  });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(directory, entry.name);
    if (isLeftOut(path)) continue;
    if (entry.isDirectory()) yield* filesBelow(root, path, isLeftOut);
    else if (entry.isFile() || entry.isSymbolicLink()) {
      const found = await stat(path).catch(() => undefined);
      if (!found?.isFile()) continue;
      yield { name: relative(root, path).split(sep).join('/'), bytes: found.size, path, open: () => readFrom(path) };
    }
  }
}

async function* readFrom(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path) as AsyncIterable<Uint8Array>;
  } catch (cause) {
    throw fileError(cause, path);
  }
}

/** All objects of a volume that is not a directory. */
export function storePlace(
  name: string,
  store: SegmentStore,
  besides: KeptBesides | undefined,
  isLinked = false,
): SearchPlace {
  return { name, isLinked, files: () => objectsOf(store, besides) };
}

async function* objectsOf(store: SegmentStore, besides: KeptBesides | undefined): AsyncGenerator<SearchedFile> {
  for await (const page of store.list())
    for (const { name, bytes } of page)
      yield { name, bytes, open: () => store.stream(sealedBytes(name, bytes), 0, bytes) };
  if (!besides) return;
  yield* pagesOf(besides.versions(''), ({ name, versionId, isLatest, bytes, isDeleteMarker }) =>
    isLatest || isDeleteMarker
      ? undefined
      : { name: `${name}?version=${versionId}`, bytes, open: () => besides.streamVersion({ name, versionId }) },
  );
  yield* pagesOf(besides.unfinishedUploads(''), ({ name, id }) =>
    unreadable(`${name}?upload=${id}`, 'it was begun and not finished, so its bytes cannot be read; abort it'),
  );
}

/** Nothing of a server that does not know the question: it keeps none. */
async function* pagesOf<Kept>(
  pages: AsyncIterable<readonly Kept[]>,
  fileOf: (kept: Kept) => SearchedFile | undefined,
): AsyncGenerator<SearchedFile> {
  try {
    for await (const page of pages)
      for (const kept of page) {
        const file = fileOf(kept);
        if (file) yield file;
      }
  } catch (error) {
    if (!isUnknownToServer(error)) throw error;
  }
}

function isUnknownToServer(error: unknown): boolean {
  const { cause } = Object(error);
  return Object(Object(cause).$metadata).httpStatusCode === 501;
}

/** A file that is there and cannot be read. */
function unreadable(name: string, detail: string): SearchedFile {
  // biome-ignore lint/correctness/useYield: it only fails, like a stream whose beginning cannot be read.
  async function* open(): AsyncGenerator<Uint8Array> {
    throw new PinakesError('FILE_UNREADABLE', { where: name, detail });
  }
  return { name, bytes: 0, open };
}

export function keptBesides(volume: object): KeptBesides | undefined {
  return 'versions' in volume && 'unfinishedUploads' in volume ? (volume as KeptBesides) : undefined;
}
