/**
 * Uploads in parts. Everything about one is in a folder of its own until it becomes an object:
 *
 *     <directory>/.pinakes-s3/uploads/<upload id>/upload.json         what it will be
 *     <directory>/.pinakes-s3/uploads/<upload id>/<number>.json       a part: its tag, its size, its file
 *     <directory>/.pinakes-s3/uploads/<upload id>/part-<random>       the bytes of a part
 *
 * A part is durable before it is acknowledged. A part that is a copy of an object is not copied yet: its file is
 * another name of the object's file, whose bytes never change, with the range that the part takes of it. So the bytes
 * are written once, when the upload becomes an object.
 */
import { type FileHandle, link, open, readdir, readFile, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { EpochMs, IdSource } from '../../base/index.ts';
import { RESERVED_FOLDER } from './access-keys.ts';
import type { ChecksumAlgorithm, Checksums } from './checksum.ts';
import { writeChunks } from './draft.ts';
import { type DurableFolders, isAbsent } from './durable-folders.ts';
import { KeyQueue } from './key-queue.ts';
import type { ChecksumType, ObjectFacts } from './object-facts.ts';
import { randomName } from './object-key.ts';
import type { ObjectName } from './object-store.ts';
import { S3Error } from './s3-error.ts';

const UPLOAD_ID = /^[0-9a-f]{32}$/;
const PART_FILE = /^\d{5}\.json$/;
const READ_BYTES = 1024 * 1024;
export const PART_NUMBER_MAX = 10_000;

export type Upload = {
  readonly id: string;
  readonly bucket: string;
  readonly key: string;
  readonly initiated: EpochMs;
  readonly fields: ObjectFacts['fields'];
  readonly metadata: ObjectFacts['metadata'];
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined;
  readonly checksumType: ChecksumType;
};

export type UploadPart = {
  readonly number: number;
  /** The MD5 in hexadecimal digits. */
  readonly etag: string;
  readonly bytes: number;
  readonly modified: EpochMs;
  readonly checksums: Checksums;
  readonly file: string;
  /** Where in its file the part begins. */
  readonly from: number;
  /** The time of the file of a copied part, which shows whether somebody changed it by hand. */
  readonly mtimeNs: string;
};

export class MultipartUploads {
  readonly #folder: string;
  readonly #folders: DurableFolders;
  readonly #newId: IdSource;
  readonly #queue = new KeyQueue();

  constructor(root: string, folders: DurableFolders, newId: IdSource) {
    this.#newId = newId;
    this.#folder = join(root, RESERVED_FOLDER, 'uploads');
    this.#folders = folders;
  }

  async create(upload: Omit<Upload, 'id'>): Promise<Upload> {
    const made = { ...upload, id: randomName(this.#newId) };
    const folder = this.#folderOf(made.id);
    await this.#folders.make(folder);
    await this.#replace(folder, 'upload.json', JSON.stringify(made));
    return made;
  }

  /** The upload, when it is of this object. */
  async find(id: string, { bucket, key }: ObjectName): Promise<Upload> {
    const upload = UPLOAD_ID.test(id) ? await this.#read(id) : undefined;
    if (upload?.bucket !== bucket || upload.key !== key) throw noSuchUpload();
    return upload;
  }

  /** Every upload of a bucket, by key and then by time. */
  async list(bucket: string): Promise<Upload[]> {
    const uploads: Upload[] = [];
    for (const id of await readdir(this.#folder)) {
      const upload = UPLOAD_ID.test(id) ? await this.#read(id) : undefined;
      if (upload?.bucket === bucket) uploads.push(upload);
    }
    return uploads.sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)) || a.initiated - b.initiated);
  }

  /** Writes the bytes of a part to a file, and passes it to `work`. A part whose work fails leaves nothing. */
  async writePart(
    { id }: Upload,
    number: number,
    chunks: AsyncIterable<Uint8Array>,
    factsOf: () => Pick<UploadPart, 'etag' | 'bytes' | 'modified' | 'checksums'>,
  ): Promise<UploadPart> {
    const file = `part-${randomName(this.#newId)}`;
    const path = join(this.#folderOf(id), file);
    try {
      await using handle = await this.#open(path);
      await writeChunks(handle, chunks);
      await handle.sync();
      const { mtimeNs } = await handle.stat({ bigint: true });
      return await this.#keep(id, { ...factsOf(), number, file, from: 0, mtimeNs: String(mtimeNs) });
    } catch (cause) {
      await unlink(path).catch(() => {});
      throw cause;
    }
  }

  /** Makes a range of an object's file a part. `path` must still be the file of which the facts are. */
  async linkPart(
    { id }: Upload,
    path: string,
    version: { readonly ino: bigint; readonly mtimeNs: bigint },
    part: Omit<UploadPart, 'file' | 'mtimeNs'>,
  ): Promise<UploadPart | undefined> {
    const file = `part-${randomName(this.#newId)}`;
    const own = join(this.#folderOf(id), file);
    await link(path, own).catch((cause: unknown) => {
      throw isAbsent(cause) ? noSuchUpload() : cause;
    });
    try {
      await using handle = await open(own, 'r');
      const { ino, mtimeNs } = await handle.stat({ bigint: true });
      // The object was replaced meanwhile.
      if (ino !== version.ino || mtimeNs !== version.mtimeNs) {
        await unlink(own);
        return undefined;
      }
      return await this.#keep(id, { ...part, file, mtimeNs: String(mtimeNs) });
    } catch (cause) {
      await unlink(own).catch(() => {});
      throw cause;
    }
  }

  /** The parts in the order of their numbers. */
  async parts({ id }: Upload): Promise<UploadPart[]> {
    const names = await readdir(this.#folderOf(id)).catch((cause: unknown) => {
      throw isAbsent(cause) ? noSuchUpload() : cause;
    });
    const parts: UploadPart[] = [];
    for (const name of names.filter((one) => PART_FILE.test(one)).sort()) parts.push(await this.#readPart(id, name));
    return parts;
  }

  /** The bytes of a part. */
  async *read({ id }: Upload, part: UploadPart): AsyncGenerator<Uint8Array> {
    await using handle = await open(join(this.#folderOf(id), part.file), 'r');
    if (String((await handle.stat({ bigint: true })).mtimeNs) !== part.mtimeNs) throw changedPart(part);
    for (let at = part.from; at < part.from + part.bytes; ) {
      const wanted = Math.min(READ_BYTES, part.from + part.bytes - at);
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted, at);
      if (bytesRead === 0) throw changedPart(part);
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /** Runs work of one upload, such as completing it, while nothing else of this kind runs for it. */
  alone<T>({ id }: Upload, work: () => Promise<T>): Promise<T> {
    return this.#queue.run(id, work);
  }

  /** Removes the upload with its parts. */
  async remove({ id }: Upload): Promise<void> {
    const folder = this.#folderOf(id);
    // Without this file it is no upload any more, whatever of the rest a crash leaves.
    await unlink(join(folder, 'upload.json')).catch((cause: unknown) => {
      if (!isAbsent(cause)) throw cause;
    });
    await this.#folders.syncAbsence(join(folder, 'upload.json'));
    await rm(folder, { recursive: true, force: true });
    await this.#folders.sync(this.#folder);
  }

  /** Removes what a crash left: folders that are no uploads, and files that are no parts. */
  async recover(): Promise<void> {
    for (const id of await readdir(this.#folder)) {
      const folder = join(this.#folder, id);
      const upload = UPLOAD_ID.test(id) ? await this.#read(id) : undefined;
      if (!upload) {
        await rm(folder, { recursive: true, force: true });
        continue;
      }
      const used = new Set((await this.parts(upload)).map(({ file }) => file));
      for (const name of await readdir(folder)) {
        const isUsed = used.has(name) || PART_FILE.test(name) || name === 'upload.json';
        if (!isUsed) await rm(join(folder, name), { force: true });
      }
    }
  }

  async #keep(id: string, part: UploadPart): Promise<UploadPart> {
    const folder = this.#folderOf(id);
    const name = `${String(part.number).padStart(5, '0')}.json`;
    return this.#queue.run(`${id} ${name}`, async () => {
      const before = await this.#readPart(id, name).catch(() => undefined);
      await this.#replace(folder, name, JSON.stringify(part));
      if (before) await unlink(join(folder, before.file)).catch(() => {});
      return part;
    });
  }

  async #replace(folder: string, name: string, text: string): Promise<void> {
    const draft = join(folder, `draft-${randomName(this.#newId)}`);
    {
      await using file = await this.#open(draft);
      await file.writeFile(text);
      await file.sync();
    }
    await rename(draft, join(folder, name)).catch((cause: unknown) => {
      throw isAbsent(cause) ? noSuchUpload() : cause;
    });
    await this.#folders.sync(folder);
  }

  /** A new file in the folder of an upload, which an abort may have removed. */
  async #open(path: string): Promise<FileHandle> {
    return open(path, 'wx', 0o600).catch((cause: unknown) => {
      throw isAbsent(cause) ? noSuchUpload() : cause;
    });
  }

  async #read(id: string): Promise<Upload | undefined> {
    try {
      return JSON.parse(await readFile(join(this.#folderOf(id), 'upload.json'), 'utf8')) as Upload;
    } catch (cause) {
      if (isAbsent(cause) || cause instanceof SyntaxError) return undefined;
      throw cause;
    }
  }

  async #readPart(id: string, name: string): Promise<UploadPart> {
    return JSON.parse(await readFile(join(this.#folderOf(id), name), 'utf8')) as UploadPart;
  }

  #folderOf(id: string): string {
    return join(this.#folder, id);
  }
}

function noSuchUpload(): S3Error {
  return new S3Error('NoSuchUpload', 'The upload does not exist. It may have been completed or aborted.');
}

function changedPart({ number }: UploadPart): S3Error {
  return new S3Error('InvalidPart', `The bytes of part ${number} changed on the disk of the server.`);
}
