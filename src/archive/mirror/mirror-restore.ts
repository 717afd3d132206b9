/**
 * Makes an archive from a mirror alone. Every volume of the archive becomes a directory in it. Each object is compared
 * with its digest while it is written, and `archive.yaml` comes last, so a restore that was killed is not an archive.
 * It goes on when it is asked for again. The first opening makes the catalog.
 *
 * ```
 *   restoring.json    in the new directory, while it is being restored: the mirror and the number of the state
 * ```
 */
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type Clock,
  fileError,
  PinakesError,
  RunningDigest,
  replaceFile,
  syncDirectory,
  toHex,
} from '../../base/index.ts';
import { AppendingStore, type SegmentStore, sealedBytes } from '../../ledger/index.ts';
import {
  createDirectoryVolume,
  createLinkedVolume,
  openDirectoryVolume,
  openLinkedVolume,
} from '../../volume/index.ts';
import { CONNECTOR_NAME, type Connector, readConnector, type VolumeSetting, writeConnector } from '../connector.ts';
import { makeDirectory } from '../segment/volume-set.ts';
import { type MirroredObject, type MirrorManifest, readManifests } from './mirror-manifest.ts';
import { bucketOpener, type MirrorPlace, type MirrorTarget, type OpenRemote, openAnyMirror } from './mirror-target.ts';

const MARK_NAME = 'restoring.json';
const DRAFT_FOLDER = 'restoring';
/** Where copies of files that were added in place are put. */
const LINKED_FOLDER = 'linked-files';

export type RestoreOptions = {
  /** The newest state that is not later than this time. Default: the newest. */
  readonly until?: number | undefined;
  /** For tests: opens a volume that is not a bucket. */
  readonly remote?: OpenRemote | undefined;
  readonly clock: Clock;
  readonly onProgress?: ((progress: { object: string; bytes: number; totalBytes: number }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type RestoreReport = {
  readonly archive: string;
  readonly number: number;
  readonly time: string;
  readonly objects: number;
  readonly bytes: number;
  readonly absent: MirrorManifest['absent'];
};

export async function restoreMirror(
  from: MirrorPlace,
  directory: string,
  options: RestoreOptions,
): Promise<RestoreReport> {
  await using target = await openAnyMirror(from, options.remote ?? bucketOpener(options.clock));
  const { manifests } = await readManifests(target.store);
  const { until = Number.POSITIVE_INFINITY } = options;
  const manifest = manifests.find(({ time }) => Date.parse(time) <= until);
  if (!manifest) throw new PinakesError('MIRROR_MISSING', { where: target.where, detail: 'it has no such state' });
  await begin(directory, { id: target.mark.id, number: manifest.number });
  const restore = new Restore(target, manifest, directory, options);
  await restore.run();
  const { archive, number, time, objects, absent } = manifest;
  return { archive, number, time, objects: objects.length, bytes: restore.totalBytes, absent };
}

/** Takes an empty directory, or one in which the same state was being restored. */
async function begin(directory: string, mark: object): Promise<void> {
  await makeDirectory(directory);
  const path = join(directory, MARK_NAME);
  const text = `${JSON.stringify(mark)}\n`;
  const found = await readFile(path, 'utf8').catch(() => undefined);
  if (found === text) return;
  if ((await readdir(directory)).length > 0) {
    const detail = found === undefined ? 'the directory is not empty' : 'another state was being restored here';
    throw new PinakesError('ARCHIVE_EXISTS', { where: directory, detail });
  }
  await replaceFile(path, text).catch((cause: unknown) => {
    throw fileError(cause, path, 'writing');
  });
}

class Restore {
  readonly totalBytes: number;
  readonly #target: MirrorTarget;
  readonly #manifest: MirrorManifest;
  readonly #directory: string;
  readonly #options: RestoreOptions;
  #bytes = 0;

  constructor(target: MirrorTarget, manifest: MirrorManifest, directory: string, options: RestoreOptions) {
    this.#target = target;
    this.#manifest = manifest;
    this.#directory = directory;
    this.#options = options;
    this.totalBytes = [...manifest.objects, ...manifest.files].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async run(): Promise<void> {
    const connector = await this.#connector();
    const settings = connector.volumes.map(
      ({ name, kind, writable }): VolumeSetting =>
        kind === 'linked'
          ? { name, kind, path: `volumes/${name}.jsonl`, writable }
          : { name, kind: 'directory', path: `volumes/${name}`, writable },
    );
    for (const { file } of this.#manifest.files)
      if (file === 'snapshots.json' || file === 'sequences.jsonl') await this.#file(file, join(this.#directory, file));
    for (const setting of settings) {
      const objects = this.#manifest.objects.filter(({ volume }) => volume === setting.name);
      const path = join(this.#directory, setting.path);
      if (setting.kind === 'linked') {
        const listed = connector.volumes.find(({ name }) => name === setting.name)!.path;
        await this.#linkedVolume(setting.name, listed, path, objects);
      } else await this.#volume(setting.name, path, objects);
    }
    // A mirror has one archive that syncs it.
    const { mirrors: _, ...others } = connector;
    await writeConnector(this.#directory, { ...others, volumes: settings });
    await rm(join(this.#directory, DRAFT_FOLDER), { recursive: true, force: true });
    await rm(join(this.#directory, MARK_NAME), { force: true });
    await syncDirectory(this.#directory);
  }

  async #connector(): Promise<Connector> {
    const draft = join(this.#directory, DRAFT_FOLDER);
    await makeDirectory(draft);
    await this.#file(CONNECTOR_NAME, join(draft, CONNECTOR_NAME));
    return readConnector(draft);
  }

  async #volume(name: string, path: string, objects: readonly MirroredObject[]): Promise<void> {
    await createDirectoryVolume(name, path);
    const volume = await openDirectoryVolume(name, path, { writable: true });
    try {
      const store = new AppendingStore(volume);
      for (const object of objects) await this.#object(store, object);
    } finally {
      await volume.close();
    }
  }

  /** An object that is sealed was compared when it was written. An open one is written anew. */
  async #object(store: SegmentStore, object: MirroredObject): Promise<void> {
    const { name, bytes, isSealed } = object;
    const found = (await store.find(name)).object;
    if (found?.sealed && isSealed && found.bytes === bytes) {
      this.#tell(name, bytes);
      return;
    }
    if (found) await store.remove([name]);
    await store.begin(name);
    let at = 0;
    for await (const piece of this.#bytesOf(name, object.pieces)) {
      await store.append(name, at, [piece], 0);
      at += piece.length;
    }
    await store.sync([name]);
    if (isSealed) await store.seal(sealedBytes(name, bytes));
  }

  /** Files that were added in place are put into a folder of the archive, and linked there. */
  async #linkedVolume(name: string, listed: string, path: string, objects: readonly MirroredObject[]): Promise<void> {
    await makeDirectory(dirname(path));
    if (this.#manifest.files.some(({ file }) => file === listed)) await this.#file(listed, path);
    else await createLinkedVolume(name, path);
    const volume = await openLinkedVolume(name, path);
    try {
      for (const object of objects) {
        const copy = join(this.#directory, LINKED_FOLDER, name, object.name);
        await makeDirectory(dirname(copy));
        await this.#write(copy, this.#bytesOf(object.name, object.pieces));
        await volume.unlink([object.name]);
        await volume.link(copy, object.name);
      }
    } finally {
      await volume.close();
    }
  }

  async #file(file: string, path: string): Promise<void> {
    const found = this.#manifest.files.find((one) => one.file === file);
    if (!found) throw new PinakesError('MIRROR_DAMAGED', { where: this.#target.where, detail: `it lacks ${file}` });
    await this.#write(path, this.#bytesOf(basename(file), found.pieces));
  }

  async #write(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      await using file = await open(path, 'w');
      for await (const piece of bytes) await file.writeFile(piece);
      await file.sync();
    } catch (cause) {
      throw cause instanceof PinakesError ? cause : fileError(cause, path, 'writing');
    }
    await syncDirectory(dirname(path));
  }

  /** The bytes of pieces, in order. Fails at the end of a piece whose bytes are not those of its digest. */
  async *#bytesOf(name: string, pieces: MirroredObject['pieces']): AsyncGenerator<Uint8Array> {
    const { signal } = this.#options;
    for (const [object, bytes, sha256] of pieces) {
      const digest = new RunningDigest('sha256');
      for await (const piece of this.#target.store.stream(sealedBytes(object, bytes), 0, bytes)) {
        signal?.throwIfAborted();
        digest.update(piece);
        this.#tell(name, piece.length);
        yield piece;
      }
      if (toHex(digest.finish().bytes) !== sha256)
        throw new PinakesError('MIRROR_DAMAGED', { where: this.#target.where, detail: `${object} is damaged` });
    }
  }

  #tell(object: string, bytes: number): void {
    this.#bytes += bytes;
    this.#options.onProgress?.({ object, bytes: this.#bytes, totalBytes: this.totalBytes });
  }
}
