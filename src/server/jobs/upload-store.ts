/**
 * Uploaded files that wait to be added to the archive. Each is written to `uploads/` of the archive under a name that
 * the server chooses, checked, and passed to a job, which removes the file when the job ends. An upload that is
 * incomplete or is not an archive file is removed at once. When a server dies, the files of its jobs stay, so that the
 * jobs can be run again.
 */
import { mkdir, open, readdir, rename, stat, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type EpochMs,
  fileError,
  type IdSource,
  PinakesError,
  syncDirectory,
  ThreadPool,
  whenAborted,
  writingFile,
} from '../../base/index.ts';
import { DIRECTORY_MODE, FILE_MODE, makePrivate } from '../../jobs/index.ts';
import { notArchiveFile } from '../../warc/index.ts';
import { HttpProblem } from '../http/problem.ts';

const PART_SUFFIX = '.part';
const NAME = /^[0-9a-f-]{36}-[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/;
/** Space on the disk that uploads leave free for the archive. */
const RESERVE_BYTES = 64 * 1024 * 1024;
/**
 * The free space is checked again after this many bytes of an upload, because other writers use the disk too, and some
 * clients send no Content-Length.
 */
const SPACE_CHECK_BYTES = 8 * 1024 * 1024;

export type Upload = {
  /** The name of the upload in the input of jobs. */
  readonly name: string;
  readonly bytes: number;
};

type UploadStoreOptions = {
  readonly directory: string;
  readonly newId: IdSource;
  readonly bytesMax: number | undefined;
  /** Files that have changed since are not removed by `open`. The default: every file may be removed. */
  readonly youngSince?: EpochMs;
  /** The free space on the disk of a directory. */
  readonly freeBytes?: (directory: string) => Promise<number>;
};

export class UploadStore {
  readonly #options: UploadStoreOptions;
  readonly #uploads: Set<string>;

  private constructor(options: UploadStoreOptions, uploads: Set<string>) {
    this.#options = options;
    this.#uploads = uploads;
  }

  /** Opens the store, and removes files that no job needs. */
  static async open(options: UploadStoreOptions, isNeeded: (name: string) => boolean): Promise<UploadStore> {
    const { youngSince = Number.POSITIVE_INFINITY } = options;
    const kept = new Set<string>();
    await writingFile(options.directory, async () => {
      await mkdir(options.directory, { recursive: true, mode: DIRECTORY_MODE });
      await makePrivate(options.directory);
      for (const name of await readdir(options.directory)) {
        const path = join(options.directory, name);
        if (isNeeded(name)) {
          await makePrivate(path);
          kept.add(name);
        } else if ((await stat(path)).mtimeMs < youngSince) await unlink(path).catch(() => {});
      }
    });
    return new UploadStore(options, kept);
  }

  /** Receives a file. `bytes` is the length of the file, when the client announces it. */
  async receive(name: string, stream: Readable, bytes: number | undefined, signal: AbortSignal): Promise<Upload> {
    const { directory, newId, bytesMax = Number.POSITIVE_INFINITY } = this.#options;
    if (bytes !== undefined && bytes > bytesMax) throw tooLarge(bytesMax);
    await this.#checkSpace(bytes ?? 0);
    const upload = `${newId().replace(/^<urn:uuid:|>$/g, '')}-${safeName(name)}`;
    const part = join(directory, `${upload}${PART_SUFFIX}`);
    let received = 0;
    let checkedAt = 0;
    const check = async (piece: Uint8Array) => {
      received += piece.length;
      if (received > bytesMax) throw tooLarge(bytesMax);
      if (received - checkedAt < SPACE_CHECK_BYTES) return;
      checkedAt = received;
      await this.#checkSpace(bytes === undefined ? 0 : bytes - received);
    };
    try {
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        // The connection must outlive a refusal, or the client would not receive it.
        for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
          await check(piece);
          yield piece;
        }
      };
      // The file is created before anything can fail, so that the handler below can remove it.
      const file = await open(part, 'wx', FILE_MODE);
      await pipeline(pieces, file.createWriteStream({ flush: true }), { signal });
      if (!(await isArchiveFile(part, signal))) throw notArchiveFile(name.slice(-200));
      await rename(part, join(directory, upload));
      await syncDirectory(directory);
      this.#uploads.add(upload);
      return { name: upload, bytes: received };
    } catch (cause) {
      await unlink(part).catch(() => {});
      throw fileError(cause, 'upload', 'writing');
    }
  }

  has(upload: string): boolean {
    return this.#uploads.has(upload);
  }

  /** The path of an uploaded file. The name of an upload is never a path. */
  pathOf(upload: string): string {
    if (!NAME.test(upload)) throw new PinakesError('FILE_MISSING', { where: `upload ${upload.slice(0, 200)}` });
    return join(this.#options.directory, upload);
  }

  async remove(upload: string): Promise<void> {
    await unlink(this.pathOf(upload)).catch(() => {});
    this.#uploads.delete(upload);
  }

  /** Throws when the disk lacks space for this many more bytes. */
  async #checkSpace(bytes: number): Promise<void> {
    const { directory, freeBytes = freeBytesOf } = this.#options;
    if (bytes + RESERVE_BYTES <= (await freeBytes(directory))) return;
    throw new PinakesError('DISK_FULL', { where: 'upload', detail: `the upload needs ${bytes} more bytes` });
  }
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** The name of the file on the disk of its sender. */
export function givenName(upload: string): string {
  return upload.slice(37);
}

/** The name of the file on the disk of its sender, without characters that are special to a file system. */
function safeName(name: string): string {
  const last = name.split(/[/\\]/).pop()!;
  const safe = last.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^[^A-Za-z0-9]+/, '');
  return safe.slice(-100).replace(/^[^A-Za-z0-9]+/, '') || 'upload';
}

/** Checks on a separate thread: a few bytes can decode to gigabytes, and other requests should not wait for that. */
async function isArchiveFile(path: string, signal: AbortSignal): Promise<boolean> {
  const threads = new ThreadPool<string, boolean>(new URL('./upload-worker.ts', import.meta.url), { threads: 1 });
  using _ = whenAborted(signal, () => void threads.close());
  try {
    signal.throwIfAborted();
    return await threads.run(path);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    await threads.close();
  }
}

function tooLarge(bytesMax: number): HttpProblem {
  return new HttpProblem({
    status: 413,
    code: 'BODY_TOO_LARGE',
    message: `an upload may have at most ${bytesMax} bytes`,
    advice:
      'Copy the file to the machine of the server and add it by its path, or ask the operator to raise the limit.',
  });
}
