/**
 * The bytes of an object that is being made: a file among the drafts, which gets the name of the object when it is
 * complete. Its name tells which facts belong to it, so that a start can finish or remove what a crash left.
 */
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { RESERVED_FOLDER } from './access-keys.ts';
import { isAbsent } from './durable-folders.ts';
import { keyHash } from './object-key.ts';

/** Pieces are written together from this size on. */
const BATCH_BYTES = 256 * 1024;
const DRAFT_NAME = /^([a-z0-9.-]+)~([0-9a-f]{40})~[0-9a-f]{32}(?:\.link)?$/;

export class Draft {
  readonly path: string;
  readonly handle: FileHandle;
  /** True while the object has its name and this is not durable. If it stays so, the next start syncs it again. */
  isNamed = false;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.handle = handle;
  }

  static async create(root: string, bucket: string, key: string, id: string): Promise<Draft> {
    const name = `${bucket}~${keyHash(key)}~${id}`;
    const path = join(draftsFolder(root), name);
    return new Draft(path, await open(path, 'wx+'));
  }

  async write(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    await writeChunks(this.handle, chunks);
  }

  /** Removes the draft, whether it has become an object or not. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.handle.close();
    if (this.isNamed) return;
    await unlink(this.path).catch((cause: unknown) => {
      if (!isAbsent(cause)) throw cause;
    });
  }
}

export function draftsFolder(root: string): string {
  return join(root, RESERVED_FOLDER, 'drafts');
}

/** The bucket and the hash of the key of a draft, from its name. */
export function draftOrigin(name: string): { readonly bucket: string; readonly hash: string } | undefined {
  const [, bucket, hash] = DRAFT_NAME.exec(name) ?? [];
  return bucket && hash ? { bucket, hash } : undefined;
}

/** Writes chunks at the end of a file, in batches, while the next chunks arrive. */
export async function writeChunks(handle: FileHandle, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let batch: Uint8Array[] = [];
  let bytes = 0;
  let writing: Promise<void> = Promise.resolve();
  const flush = async () => {
    const full = batch;
    batch = [];
    bytes = 0;
    await writing;
    writing = writeAll(handle, full);
    // Reported when the next batch waits for it.
    writing.catch(() => {});
  };
  try {
    for await (const chunk of chunks) {
      batch.push(chunk);
      bytes += chunk.length;
      if (bytes >= BATCH_BYTES) await flush();
    }
    await flush();
  } finally {
    await writing;
  }
}

async function writeAll(handle: FileHandle, pieces: Uint8Array[]): Promise<void> {
  while (pieces.length > 0) {
    let { bytesWritten } = await handle.writev(pieces);
    while (pieces.length > 0 && bytesWritten >= pieces[0]!.length) bytesWritten -= pieces.shift()!.length;
    if (bytesWritten > 0) pieces[0] = pieces[0]!.subarray(bytesWritten);
  }
}
