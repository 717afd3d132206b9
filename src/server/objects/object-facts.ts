/**
 * What S3 keeps about an object beside its bytes: its tag, its metadata, its checksums. One small file an object:
 *
 *     <directory>/.pinakes-s3/objects/<bucket>/<2 hex>/<hash of the key>.<time of change in ns>.<bytes>
 *
 * The name has the time and the size of the object's file, so the facts are those of exactly this version. Replacing an
 * object first writes the new facts, then the new object, then removes the old facts: a crash in between leaves an
 * object with its own facts. A file that was put into the folder by hand has none, and a damaged file of facts counts
 * as none: the object then has a tag made of its size and time, and no metadata.
 */
import { open, readFile, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RESERVED_FOLDER } from './access-keys.ts';
import type { Checksums } from './checksum.ts';
import { type DurableFolders, isAbsent } from './durable-folders.ts';
import { keyHash } from './object-key.ts';

/** Fields of the reply that the client gave with the object. */
export type KeptFields = Readonly<Record<string, string>>;

/** Whether a checksum is of the bytes of the object, or of the checksums of its parts. */
export type ChecksumType = 'FULL_OBJECT' | 'COMPOSITE';

export type ObjectFacts = {
  readonly key: string;
  readonly etag: string;
  /** `content-type`, `cache-control` and so on. */
  readonly fields: KeptFields;
  /** User metadata, by name without `x-amz-meta-`. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly checksums: Checksums;
  readonly checksumType: ChecksumType;
  /** The upload that became this object. */
  readonly uploadId?: string;
};

/** The file of one version of an object. */
export type FileVersion = { readonly mtimeNs: bigint; readonly size: bigint };

export class FactsFolder {
  readonly #root: string;
  readonly #folders: DurableFolders;

  constructor(root: string, folders: DurableFolders) {
    this.#root = root;
    this.#folders = folders;
  }

  path(bucket: string, hash: string, { mtimeNs, size }: FileVersion): string {
    return join(this.#root, RESERVED_FOLDER, 'objects', bucket, hash.slice(0, 2), `${hash}.${mtimeNs}.${size}`);
  }

  /** Writes the facts durably. */
  async write(bucket: string, version: FileVersion, facts: ObjectFacts): Promise<void> {
    const path = this.path(bucket, keyHash(facts.key), version);
    const write = async () => {
      await using file = await open(path, 'w', 0o600);
      await file.writeFile(JSON.stringify(facts));
      await file.sync();
    };
    await write().catch(async (cause: unknown) => {
      if (!isAbsent(cause)) throw cause;
      await this.#folders.make(dirname(path));
      await write();
    });
    await this.#folders.sync(dirname(path));
  }

  async read(bucket: string, key: string, version: FileVersion): Promise<ObjectFacts | undefined> {
    const facts = await this.readFile(this.path(bucket, keyHash(key), version));
    return facts?.key === key ? facts : undefined;
  }

  async readFile(path: string): Promise<ObjectFacts | undefined> {
    try {
      return JSON.parse(await readFile(path, 'utf8')) as ObjectFacts;
    } catch (cause) {
      if (isAbsent(cause) || cause instanceof SyntaxError) return undefined;
      throw cause;
    }
  }

  async remove(bucket: string, key: string, version: FileVersion): Promise<void> {
    await unlink(this.path(bucket, keyHash(key), version)).catch((cause: unknown) => {
      if (!isAbsent(cause)) throw cause;
    });
  }
}
