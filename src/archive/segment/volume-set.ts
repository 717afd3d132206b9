/**
 * The open volumes of an archive. If a volume is missing, the others work all the same. Using a missing volume fails
 * with an error that names it.
 */
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  assert,
  type CallObserver,
  type Clock,
  fileError,
  type IdSource,
  makeDirectories,
  PinakesError,
} from '../../base/index.ts';
import {
  type AnyVolume,
  type ConditionalVolume,
  createDirectoryVolume,
  createLinkedVolume,
  DirectoryVolume,
  LinkedVolume,
  openDirectoryVolume,
  openLinkedVolume,
  openS3Volume,
  type S3Volume,
} from '../../volume/index.ts';
import type { VolumeSetting } from '../connector.ts';
import { misnamedFiles } from './misnamed-files.ts';
import { joinOwners, type TakeOptions, VolumeOwner } from './volume-owner.ts';
import { volumeWriter } from './volume-writer.ts';

type Opened = {
  readonly setting: VolumeSetting;
  readonly volume: AnyVolume | undefined;
  /** Of a writable volume of immutable objects. */
  readonly owner?: VolumeOwner | undefined;
  readonly failure: PinakesError | undefined;
};

type OpenVolume = Pick<Opened, 'owner'> & { readonly volume: AnyVolume };

export type VolumeSetOptions = {
  /** Needed for buckets. */
  readonly clock?: Clock | undefined;
  /** Needed to write to buckets. */
  readonly newId?: IdSource | undefined;
  /** Watches the requests to buckets. */
  readonly observe?: CallObserver | undefined;
  /** Whether volumes of immutable objects are taken from other archives. */
  readonly takesOver?: boolean | undefined;
  /** The id of the archive in a cluster, whose machines share its volumes. */
  readonly cluster?: string | undefined;
  /** A monotonic time in milliseconds; see the volumes. */
  readonly stopwatch?: (() => number) | undefined;
};

export class VolumeSet {
  readonly #opened = new Map<string, Opened>();
  readonly #options: VolumeSetOptions;

  private constructor(options: VolumeSetOptions = {}) {
    this.#options = options;
  }

  static async open(
    directory: string,
    settings: readonly VolumeSetting[],
    options: VolumeSetOptions = {},
  ): Promise<VolumeSet> {
    const set = new VolumeSet(options);
    for (const setting of settings) set.#opened.set(setting.name, await openOne(directory, setting, options));
    return set;
  }

  /** A set of volumes that are already open. Used by tests, and for volumes that are created elsewhere. */
  static of(
    volumes: readonly { setting: VolumeSetting; volume: AnyVolume; owner?: VolumeOwner | undefined }[],
  ): VolumeSet {
    const set = new VolumeSet();
    for (const one of volumes) set.#opened.set(one.setting.name, { ...one, failure: undefined });
    return set;
  }

  /** A set with a bucket that is open, and that this archive owns from now on. For tests. */
  static async ofBucket(
    volume: ConditionalVolume,
    options: TakeOptions,
    others: readonly { setting: VolumeSetting; volume: AnyVolume }[] = [],
  ): Promise<VolumeSet> {
    const setting: VolumeSetting = { name: volume.name, kind: 's3', path: 's3://test', writable: true };
    return VolumeSet.of([...others, { setting, volume, owner: await VolumeOwner.take(volume, options) }]);
  }

  get(name: string): AnyVolume {
    const opened = this.#opened.get(name);
    if (opened?.volume) return opened.volume;
    throw (
      opened?.failure ??
      new PinakesError('VOLUME_MISSING', {
        where: `volume ${name}`,
        detail: 'the archive has no volume of this name; `pinakes volume ls` lists them',
      })
    );
  }

  /** The ownership of a writable volume of immutable objects. */
  ownerOf(name: string): VolumeOwner | undefined {
    return this.#opened.get(name)?.owner;
  }

  /** The volume, if it is not missing. */
  find(name: string): AnyVolume | undefined {
    return this.#opened.get(name)?.volume;
  }

  /** A volume that a user names. A name that is not in the connector is a mistake, and not a missing disk. */
  named(name: string): AnyVolume {
    if (!this.#opened.has(name)) throw this.unknown(name);
    return this.get(name);
  }

  unknown(name: string): PinakesError {
    const detail = `it has ${[...this.#opened.keys()].join(', ')}`;
    return new PinakesError('VOLUME_UNKNOWN', { where: `volume ${name}`, detail });
  }

  /** The volume of files that were added in place. */
  linked(name: string): LinkedVolume | undefined {
    const volume = this.#opened.get(name)?.volume;
    return volume instanceof LinkedVolume ? volume : undefined;
  }

  /** WARC files in the directory of a volume that are not segments because of their names. */
  async misnamed(name: string): Promise<string[]> {
    const volume = this.#opened.get(name)?.volume;
    if (!(volume instanceof DirectoryVolume)) return [];
    // An unreadable directory is reported with its segments.
    return misnamedFiles(volume.directory).catch(() => []);
  }

  /** The volumes that are not missing. */
  available(): AnyVolume[] {
    return [...this.#opened.values()].flatMap(({ volume }) => (volume ? [volume] : []));
  }

  writable(): AnyVolume[] {
    return this.available().filter((volume) => volume.writable);
  }

  /** Why no volume is writable: the writable one is missing, or there is none. */
  noneWritable(): PinakesError {
    const away = [...this.#opened.values()].find(({ setting, failure }) => setting.writable && failure);
    return away?.failure ?? new PinakesError('NO_WRITABLE_VOLUME');
  }

  settings(): VolumeSetting[] {
    return [...this.#opened.values()].map(({ setting }) => setting);
  }

  /** Why volumes are missing. */
  failures(): PinakesError[] {
    return [...this.#opened.values()].flatMap(({ failure }) => failure ?? []);
  }

  failureOf(name: string): PinakesError | undefined {
    return this.#opened.get(name)?.failure;
  }

  /** Opens one more volume, or opens a volume again with other settings. */
  async put(directory: string, setting: VolumeSetting, takesOver = false): Promise<AnyVolume> {
    const known = this.#opened.get(setting.name);
    await known?.volume?.close();
    const opened = await openOne(directory, setting, { ...this.#options, takesOver });
    if (known || opened.volume) this.#opened.set(setting.name, opened);
    if (!opened.volume) throw opened.failure;
    return opened.volume;
  }

  /** Opens a bucket that is not a volume of the archive yet, to find out how it behaves. */
  openForProbe(setting: VolumeSetting): Promise<S3Volume> {
    return openS3(setting, this.#options);
  }

  /** Closes a volume that was removed from the archive. Returns its directory if it has one. */
  async remove(name: string): Promise<{ directory: string | undefined }> {
    const volume = this.#opened.get(name)?.volume;
    this.#opened.delete(name);
    await volume?.close();
    return { directory: volume instanceof DirectoryVolume ? volume.directory : undefined };
  }

  async close(): Promise<void> {
    await Promise.all(this.available().map((volume) => volume.close()));
  }
}

/** Creates a directory unless it exists. Reports a file in its way as such. */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeDirectories(path);
  } catch (cause) {
    const { code } = cause as { code?: string };
    // The system reports EEXIST for a file at the path and ENOTDIR for a file on the way to it.
    if (code === 'EEXIST' || code === 'ENOTDIR') throw new PinakesError('FILE_NOT_DIRECTORY', { where: path, cause });
    throw fileError(cause, path, 'writing');
  }
}

export async function createVolume(directory: string, setting: VolumeSetting): Promise<void> {
  if (setting.kind === 's3') return;
  const path = resolve(directory, setting.path);
  await makeDirectory(dirname(path));
  const found = setting.kind === 'directory' ? await stat(path).catch(() => undefined) : undefined;
  if (found?.isDirectory() === false) throw new PinakesError('FILE_NOT_DIRECTORY', { where: path });
  if (setting.kind === 'linked') await createLinkedVolume(setting.name, path);
  else await createDirectoryVolume(setting.name, path);
}

async function openOne(directory: string, setting: VolumeSetting, options: VolumeSetOptions): Promise<Opened> {
  try {
    return { setting, ...(await openVolume(directory, setting, options)), failure: undefined };
  } catch (error) {
    if (!(error instanceof PinakesError)) throw error;
    return { setting, volume: undefined, failure: error };
  }
}

async function openVolume(directory: string, setting: VolumeSetting, options: VolumeSetOptions): Promise<OpenVolume> {
  if (setting.kind === 's3') return openBucket(directory, setting, options);
  const path = resolve(directory, setting.path);
  if (setting.kind === 'linked') return { volume: await openLinkedVolume(setting.name, path, options) };
  const { writable } = setting;
  if (writable && options.cluster !== undefined) {
    const detail = 'a directory belongs to one machine; in a cluster, only buckets are written to';
    throw new PinakesError('VOLUME_REFUSED', { where: `volume ${setting.name}`, detail });
  }
  const isWriter = writable ? await volumeWriter(directory, setting) : undefined;
  const volume = await openDirectoryVolume(setting.name, path, { ...options, writable });
  await isWriter?.();
  return { volume };
}

function openS3(
  { name, path, writable, endpoint, region }: VolumeSetting,
  { clock, observe }: VolumeSetOptions,
): Promise<S3Volume> {
  assert(clock, 'a volume on S3 is opened with a clock');
  return openS3Volume(name, path, { endpoint, region, writable, clock, observe });
}

async function openBucket(directory: string, setting: VolumeSetting, options: VolumeSetOptions): Promise<OpenVolume> {
  const { clock, newId, cluster } = options;
  const volume = await openS3(setting, options);
  if (!setting.writable || !clock || !newId) return { volume };
  try {
    if (cluster !== undefined) {
      const former = await VolumeOwner.formerArchive(directory);
      await joinOwners(volume, cluster, { ...options, clock, former });
      return { volume };
    }
    return { volume, owner: await VolumeOwner.take(volume, { ...options, clock, newId, directory }) };
  } catch (error) {
    await volume.close();
    throw error;
  }
}
