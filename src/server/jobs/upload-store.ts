/**
 * Files that were sent to be added. Each is written to `uploads/` of the archive under a name of our making, looked
 * into, and handed to a job, which removes it when it is over. What was not sent to its end, or is no archive file,
 * leaves nothing. A file whose job a dead server left behind stays, so that the job can be run again.
 */
import { mkdir, open, readdir, rename, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileError, type IdSource, PinakesError, syncDirectory, ThreadPool } from '../../base/index.ts';
import { notArchiveFile } from '../../warc/index.ts';
import { HttpProblem } from '../http/problem.ts';
import { DIRECTORY_MODE, FILE_MODE, makePrivate } from './private-file.ts';

const PART_SUFFIX = '.part';
const NAME = /^[0-9a-f-]{36}-[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/;
/** What stays free on the disk, for the archive itself. */
const RESERVE_BYTES = 64 * 1024 * 1024;
/**
 * How much may come of an upload before it is looked again whether there is room: others write too, and not every
 * client says how much it sends.
 */
const LOOK_AGAIN_BYTES = 8 * 1024 * 1024;

export type Upload = {
  /** What jobs call it. */
  readonly name: string;
  readonly bytes: number;
};

type UploadStoreParts = {
  readonly directory: string;
  readonly newId: IdSource;
  readonly bytesMax: number | undefined;
  /** What the disk of a directory has left. */
  readonly freeBytes?: (directory: string) => Promise<number>;
};

export class UploadStore {
  readonly #parts: UploadStoreParts;
  readonly #uploads: Set<string>;

  private constructor(parts: UploadStoreParts, uploads: Set<string>) {
    this.#parts = parts;
    this.#uploads = uploads;
  }

  /** Opens the store; files that no job needs, left by a server that died, are removed. */
  static async open(parts: UploadStoreParts, isNeeded: (name: string) => boolean): Promise<UploadStore> {
    const kept = new Set<string>();
    try {
      await mkdir(parts.directory, { recursive: true, mode: DIRECTORY_MODE });
      await makePrivate(parts.directory);
      for (const name of await readdir(parts.directory)) {
        const path = join(parts.directory, name);
        if (isNeeded(name)) {
          await makePrivate(path);
          kept.add(name);
        } else await unlink(path).catch(() => {});
      }
    } catch (cause) {
      throw fileError(cause, parts.directory, 'writing');
    }
    return new UploadStore(parts, kept);
  }

  /** Takes a file in. `bytes` is what the client says there will be, if it does. */
  async take(name: string, stream: Readable, bytes: number | undefined, signal: AbortSignal): Promise<Upload> {
    const { directory, newId, bytesMax = Number.POSITIVE_INFINITY } = this.#parts;
    if (bytes !== undefined && bytes > bytesMax) throw tooLarge(bytesMax);
    await this.#checkSpace(bytes ?? 0);
    const upload = `${newId().replace(/^<urn:uuid:|>$/g, '')}-${safeName(name)}`;
    const part = join(directory, `${upload}${PART_SUFFIX}`);
    let taken = 0;
    let looked = 0;
    const check = async (piece: Uint8Array) => {
      taken += piece.length;
      if (taken > bytesMax) throw tooLarge(bytesMax);
      if (taken - looked < LOOK_AGAIN_BYTES) return;
      looked = taken;
      await this.#checkSpace(bytes === undefined ? 0 : bytes - taken);
    };
    try {
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        // The connection must outlive a refusal, or nobody would hear of it.
        for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
          await check(piece);
          yield piece;
        }
      };
      // Opened before anything can fail: what is not there yet cannot be removed.
      const file = await open(part, 'wx', FILE_MODE);
      await pipeline(pieces, file.createWriteStream({ flush: true }), { signal });
      if (!(await isArchiveFile(part, signal))) throw notArchiveFile(name.slice(-200));
      await rename(part, join(directory, upload));
      await syncDirectory(directory);
      this.#uploads.add(upload);
      return { name: upload, bytes: taken };
    } catch (cause) {
      await unlink(part).catch(() => {});
      throw fileError(cause, 'upload', 'writing');
    }
  }

  has(upload: string): boolean {
    return this.#uploads.has(upload);
  }

  /** Where a file lies that was sent; its name is never a path. */
  pathOf(upload: string): string {
    if (!NAME.test(upload)) throw new PinakesError('FILE_MISSING', { where: `upload ${upload.slice(0, 200)}` });
    return join(this.#parts.directory, upload);
  }

  async remove(upload: string): Promise<void> {
    await unlink(this.pathOf(upload)).catch(() => {});
    this.#uploads.delete(upload);
  }

  /** For so many bytes that are still to come. */
  async #checkSpace(bytes: number): Promise<void> {
    const { directory, freeBytes = freeBytesOf } = this.#parts;
    if (bytes + RESERVE_BYTES <= (await freeBytes(directory))) return;
    throw new PinakesError('DISK_FULL', { where: 'upload', detail: `${bytes} bytes are on their way` });
  }
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** The name that the person knows it by. */
export function givenName(upload: string): string {
  return upload.slice(37);
}

/** What the file is called on the person's disk, without anything that means something to a file system. */
function safeName(name: string): string {
  const last = name.split(/[/\\]/).pop()!;
  const safe = last.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^[^A-Za-z0-9]+/, '');
  return safe.slice(-100).replace(/^[^A-Za-z0-9]+/, '') || 'upload';
}

/** Looks on a thread of its own: a few bytes can decode to very many, and nobody else should wait for that. */
async function isArchiveFile(path: string, signal: AbortSignal): Promise<boolean> {
  const threads = new ThreadPool<string, boolean>(new URL('./upload-worker.ts', import.meta.url), { threads: 1 });
  const stop = () => void threads.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    return await threads.run(path);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    await threads.close();
  }
}

function tooLarge(bytesMax: number): HttpProblem {
  return new HttpProblem({
    status: 413,
    code: 'BODY_TOO_LARGE',
    message: `uploads may have ${bytesMax} bytes`,
    advice: 'Put the file on the machine of the server and add it by its path, or have the limit raised.',
  });
}
