/**
 * Writes a WACZ 1.1.1 package as py-wacz lays it out: the compressed index with its secondary index, the WARC files,
 * the pages, datapackage.json, its digest. WARC files and index are stored, so that they can be read by range.
 *
 * The package is written next to its final path, synced, and renamed (I2): the final path never holds an incomplete
 * package. WARC files are streamed through and hashed on the way. Index and pages are first written to files in the
 * same directory, because their size must be known before they are added. Memory does not grow with the size of these
 * files (I9).
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, link, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import {
  type Digest,
  digestOf,
  EMPTY,
  type EpochMs,
  fileError,
  PinakesError,
  READ_CHUNK_BYTES,
  RunningDigest,
  refuseExisting,
  syncDirectory,
} from '../../base/index.ts';
import { sortLines } from '../cdx/cdx-sort.ts';
import { DATAPACKAGE, DATAPACKAGE_DIGEST, formatWaczPackage, formatWaczPackageDigest } from './wacz-package.ts';
import { formatWaczPage, formatWaczPagesHeader, type WaczPage } from './wacz-page.ts';
import { writeZipNum, ZIPNUM_LINES_DEFAULT, zipNumHeader } from './zipnum.ts';

export type NewWacz = {
  readonly software: string;
  readonly createdMs: EpochMs;
  readonly title?: string;
  readonly description?: string;
  readonly mainPageUrl?: string;
  readonly mainPageDate?: string;
  /** Paths of the WARC files; each goes to archive/ under its own name. */
  readonly warcs: readonly string[];
  readonly pages: AsyncIterable<WaczPage> | Iterable<WaczPage>;
  /** CDXJ lines without line ends, in any order. Their filenames are the names of the WARC files. */
  readonly indexLines: AsyncIterable<string> | Iterable<string>;
};

export type WaczWriterOptions = {
  /** Replaces an existing file with the final name instead of refusing. */
  readonly replace?: boolean;
  readonly linesPerBlock?: number;
  readonly sortMemoryBytesMax?: number;
};

export type WrittenWacz = {
  readonly bytes: number;
  readonly indexLines: number;
  readonly pages: number;
  readonly resources: readonly { readonly path: string; readonly digest: Digest; readonly bytes: number }[];
};

export async function writeWacz(path: string, content: NewWacz, options: WaczWriterOptions = {}): Promise<WrittenWacz> {
  const names = archiveNames(content.warcs);
  await refuseExisting(path, options.replace);
  let scratch: string | undefined;
  try {
    scratch = await mkdtemp(join(dirname(path), `.${basename(path)}-`));
    const indexLines = await writeIndex(scratch, content.indexLines, options);
    const pages = await writePages(scratch, content.pages);
    const file = new PackageFile(content);
    const partial = join(scratch, 'package');
    await file.write(partial, [
      { path: 'indexes/index.cdx.gz', file: join(scratch, 'index.cdx.gz'), isStored: true },
      { path: 'indexes/index.idx', file: join(scratch, 'index.idx'), isStored: false },
      ...content.warcs.map((file, i) => ({ path: `archive/${names[i]}`, file, isStored: true })),
      { path: 'pages/pages.jsonl', file: join(scratch, 'pages.jsonl'), isStored: false },
    ]);
    const { size } = await stat(partial);
    await place(partial, path, options.replace === true);
    await syncDirectory(dirname(path));
    return { bytes: size, indexLines, pages, resources: file.resources };
  } catch (error) {
    throw fileError(error, path, 'writing');
  } finally {
    if (scratch !== undefined) await rm(scratch, { recursive: true, force: true });
  }
}

function archiveNames(warcs: readonly string[]): string[] {
  const names = warcs.map((path) => basename(path));
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new PinakesError('BAD_ARGUMENT', { where: twice, detail: 'two WARC files of this name cannot share a WACZ' });
  }
  return names;
}

/**
 * Gives the finished file its name. A link never replaces a file that was created in the meantime. File systems without
 * links need a rename.
 */
async function place(partial: string, path: string, replaces: boolean): Promise<void> {
  if (!replaces) {
    try {
      await link(partial, path);
      return;
    } catch (error) {
      if ((error as { code?: string }).code === 'EEXIST') throw error;
    }
  }
  await rename(partial, path);
}

async function writeIndex(
  scratch: string,
  lines: NewWacz['indexLines'],
  { linesPerBlock = ZIPNUM_LINES_DEFAULT, sortMemoryBytesMax }: WaczWriterOptions,
): Promise<number> {
  const data = new BufferedFile(await open(join(scratch, 'index.cdx.gz'), 'wx'));
  const secondary = new BufferedFile(await open(join(scratch, 'index.idx'), 'wx'));
  let count = 0;
  async function* sorted(): AsyncGenerator<string> {
    const memory = sortMemoryBytesMax === undefined ? {} : { memoryBytesMax: sortMemoryBytesMax };
    for await (const line of sortLines(lines, { directory: scratch, unique: true, ...memory })) {
      count++;
      yield line;
    }
  }
  try {
    await secondary.write(zipNumHeader('index.cdx.gz'));
    for await (const { bytes, indexLine } of writeZipNum(sorted(), { linesPerBlock })) {
      await data.write(bytes);
      await secondary.write(indexLine);
    }
  } finally {
    await data.close();
    await secondary.close();
  }
  return count;
}

async function writePages(scratch: string, pages: NewWacz['pages']): Promise<number> {
  const file = new BufferedFile(await open(join(scratch, 'pages.jsonl'), 'wx'));
  let count = 0;
  try {
    await file.write(formatWaczPagesHeader());
    for await (const page of pages) {
      await file.write(formatWaczPage(page));
      count++;
    }
  } finally {
    await file.close();
  }
  return count;
}

/** Buffers small pieces, so that a million lines are not a million writes. */
class BufferedFile {
  readonly #handle: FileHandle;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async write(piece: Uint8Array | string): Promise<void> {
    const bytes = typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece;
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes >= READ_CHUNK_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    await this.#handle.appendFile(bytes);
  }

  async close(): Promise<void> {
    try {
      await this.#flush();
    } finally {
      await this.#handle.close();
    }
  }
}

type Member = { readonly path: string; readonly file: string; readonly isStored: boolean };

/** The ZIP file itself. An entry is added when the entry before it is written. */
class PackageFile {
  readonly resources: { path: string; digest: Digest; bytes: number }[] = [];
  readonly #content: NewWacz;

  constructor(content: NewWacz) {
    this.#content = content;
  }

  async write(path: string, members: readonly Member[]): Promise<void> {
    const zip = new ZipFile();
    const handle = await open(path, 'wx');
    const output = zip.outputStream as Readable;
    // yazl ignores failures of its inputs. Every failure is passed to the output, which is being read below.
    const fail = (error: Error) => output.destroy(error);
    let input: Readable | undefined;
    zip.on('error', fail);
    try {
      const options = { mtime: new Date(this.#content.createdMs), mode: 0o100644 };
      for (const { path: name, file, isStored } of members) {
        const { size } = await stat(file).catch((error: unknown) => {
          throw fileError(error, file);
        });
        const member = { ...options, size, compress: !isStored };
        zip.addReadStreamLazy(name, member, (give) => {
          input = Readable.from(this.#hashed(name, file, size)).on('error', fail);
          give(null, input);
        });
      }
      // Both files are made when they are written, because all hashes are known then.
      let datapackage: Uint8Array = EMPTY;
      zip.addReadStreamLazy(DATAPACKAGE, options, (give) => {
        datapackage = formatWaczPackage({ ...this.#content, resources: this.resources });
        give(null, Readable.from([datapackage]));
      });
      zip.addReadStreamLazy(DATAPACKAGE_DIGEST, options, (give) => {
        give(null, Readable.from([formatWaczPackageDigest(digestOf('sha256', datapackage))]));
      });
      zip.end();
      for await (const chunk of output) await handle.appendFile(chunk as Uint8Array);
      await handle.sync();
    } finally {
      input?.destroy();
      await handle.close();
    }
  }

  /**
   * Reads the file up to its size when it was added: a segment may grow during the writing, and is complete up to that
   * size.
   */
  async *#hashed(path: string, file: string, size: number): AsyncGenerator<Uint8Array> {
    const running = new RunningDigest('sha256');
    let bytes = 0;
    if (size > 0) {
      try {
        for await (const chunk of createReadStream(file, { end: size - 1, highWaterMark: READ_CHUNK_BYTES })) {
          running.update(chunk as Uint8Array);
          bytes += (chunk as Uint8Array).length;
          yield chunk as Uint8Array;
        }
      } catch (error) {
        throw fileError(error, file);
      }
    }
    if (bytes < size) throw new PinakesError('FILE_CHANGED', { where: file });
    this.resources.push({ path, digest: running.finish(), bytes });
  }
}
