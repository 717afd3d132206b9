/** Administration of the volumes of an archive: listing them, adding one, and making one read-only or writable. */
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileError, PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { listedObjects } from '../../ledger/index.ts';
import { type BucketTraits, isRemoteUrl, type LinkedVolume, type RemoteOptions } from '../../volume/index.ts';
import { isVolumeName, type VolumeSetting } from '../connector.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { isOwnObject, placeOf } from '../segment/remote-place.ts';
import { noteDisplaced } from '../segment/volume-choice.ts';
import { VolumeOwner } from '../segment/volume-owner.ts';
import { createVolume } from '../segment/volume-set.ts';
import { volumeWriter } from '../segment/volume-writer.ts';
import { healArchive } from './heal.ts';
import { type RebuildOptions, rebuildCatalog } from './rebuild.ts';
import { finishSwaps } from './segment-swap.ts';

export type VolumeStatus = VolumeSetting & {
  /** Why the volume is missing. Undefined when it is available. */
  readonly failure: PinakesError | undefined;
  readonly segments: number;
  readonly bytes: number;
  /** Bytes of deleted records that compaction would free. */
  readonly deadBytes: number;
  readonly freeBytes: number | undefined;
  readonly totalBytes: number | undefined;
};

const LINKED_VOLUME: VolumeSetting = {
  name: 'linked',
  kind: 'linked',
  path: 'volumes/linked.jsonl',
  writable: false,
};

export async function listVolumes(archive: OpenedArchive): Promise<VolumeStatus[]> {
  const segments = await archive.segmentRegistry.all();
  const volumes: VolumeStatus[] = [];
  for (const setting of archive.volumes.settings()) {
    const own = segments.filter((segment) => segment.volume === setting.name);
    let failure = archive.volumes.failureOf(setting.name);
    const store = failure ? undefined : archive.stores.get(setting.name);
    const space = await store?.space().catch((error: PinakesError) => {
      failure = error;
      return undefined;
    });
    volumes.push({
      ...setting,
      failure,
      segments: own.length,
      bytes: own.reduce((sum, segment) => sum + segment.bytes, 0),
      deadBytes: own.reduce((sum, segment) => sum + segment.deadBytes, 0),
      freeBytes: space?.freeBytes,
      totalBytes: space?.totalBytes,
    });
  }
  return volumes;
}

export type NewVolume = {
  readonly name: string;
  /** A directory, or `s3://bucket/prefix`. */
  readonly path: string;
  readonly isReadOnly?: boolean;
  /** Of a bucket: the address of its server, unless it is that of AWS, and the region. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Whether the bucket is taken from the archive that owned it. */
  readonly takesOver?: boolean | undefined;
};

export type AddVolumeOptions = {
  readonly onProgress?: (segment: Segment) => void;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Adds a directory or a bucket as a volume. Its segments become part of the archive. Returns how a writable bucket
 * behaves.
 */
export async function addVolume(
  archive: OpenedArchive,
  volume: NewVolume,
  options: AddVolumeOptions = {},
): Promise<BucketTraits | undefined> {
  const { name, path, isReadOnly, endpoint, region } = volume;
  if (!isVolumeName(name)) throw refused(name, 'a name has lower-case letters, digits and dashes');
  if (archive.connector.volumes.some((other) => other.name === name))
    throw refused(name, 'there is a volume of this name already');
  if (path.startsWith('s3://')) return addBucket(archive, volume, options);
  if (endpoint !== undefined || region !== undefined) throw refused(name, 'only a bucket has an endpoint or a region');
  await addDirectory(archive, { name, path, isReadOnly: isReadOnly ?? false }, options);
  return undefined;
}

async function addDirectory(
  archive: OpenedArchive,
  { name, path, isReadOnly }: NewVolume,
  options: AddVolumeOptions,
): Promise<void> {
  const place = placeFor(archive.directory, path);
  const placeOf = (volume: VolumeSetting) => placeFor(archive.directory, volume.path, archive.directory);
  if (archive.connector.volumes.some((volume) => volume.kind !== 's3' && placeOf(volume) === place))
    throw refused(name, 'this directory is a volume of the archive already');
  await refuseNested(archive, name, resolve(archive.directory, place));
  const setting: VolumeSetting = { name, kind: 'directory', path: place, writable: !isReadOnly };
  await archive.exclusive(async () => {
    if (isReadOnly) await assertDirectory(resolve(archive.directory, place));
    else await createVolume(archive.directory, setting);
    await archive.volumes.put(archive.directory, setting);
    await enterVolume(archive, setting, options);
    for (const file of await archive.volumes.misnamed(name)) {
      const message = 'it is left out: names have letters, digits, full stops, dashes and underscores';
      archive.report({ code: 'segment-misnamed', level: 'warning', file: `${name}: ${file}`, offset: 0, message });
    }
  });
}

async function addBucket(
  archive: OpenedArchive,
  { name, path, isReadOnly = false, endpoint, region, takesOver }: NewVolume,
  options: AddVolumeOptions,
): Promise<BucketTraits | undefined> {
  const setting: VolumeSetting = {
    ...{ name, kind: 's3', path, writable: !isReadOnly },
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
  };
  for (const other of archive.connector.volumes)
    if (other.kind === 's3' && areNested(other, setting))
      throw refused(name, `the volume ${other.name} is at this place, or one of them is inside of the other`);
  return archive.exclusive(async () => {
    const traits = isReadOnly ? undefined : await traitsOf(archive, setting);
    await archive.volumes.put(archive.directory, setting, takesOver);
    await enterVolume(archive, setting, options);
    if (!archive.cluster) await VolumeOwner.endTaking(archive.directory);
    return traits;
  });
}

/** How a bucket behaves. Refuses one in which two archives could write without noticing each other. */
async function traitsOf(archive: OpenedArchive, setting: VolumeSetting): Promise<BucketTraits> {
  const volume = await archive.volumes.openForProbe(setting);
  try {
    const traits = await volume.probe();
    // In a cluster, the leases in the database keep writers apart.
    if (archive.cluster || (traits.conditions === 'atomic' && traits.replaces === 'atomic')) return traits;
    const detail =
      `its server has ${traits.conditions} conditional requests, so two archives could write to it at the same time; ` +
      'add it with --read-only, or use another server';
    throw new PinakesError('VOLUME_REFUSED', { where: `volume ${setting.name}`, detail });
  } finally {
    await volume.close();
  }
}

function areNested(one: VolumeSetting, other: VolumeSetting): boolean {
  if (one.endpoint !== other.endpoint) return false;
  const [a, b] = [one.path, other.path].map((path) => `${path.replace(/\/+$/, '')}/`) as [string, string];
  return a.startsWith(b) || b.startsWith(a);
}

/** Enters an open volume in the connector, and its segments in the catalog. */
async function enterVolume(archive: OpenedArchive, setting: VolumeSetting, options: AddVolumeOptions): Promise<void> {
  await archive.changeConnector({ ...archive.connector, volumes: [...archive.connector.volumes, setting] });
  const { name, writable } = setting;
  if (writable && archive.connector.policies.distribution === 'hash') await noteDisplaced(archive, [name]);
  if (!archive.cluster) await healArchive(archive, options);
  // Other machines write meanwhile, so segments of others are entered in another incarnation.
  else if ((await listedObjects(archive.stores.get(name))).length > 0) await archive.cluster.adopt(options);
}

/**
 * Takes a bucket that another archive owned, or that this one owned before it was restored from a copy. The other owner
 * may have written to it, so the catalog is made again. False: other buckets have to be taken first.
 */
export async function takeVolume(archive: OpenedArchive, name: string, options: RebuildOptions): Promise<boolean> {
  const setting = archive.connector.volumes.find((volume) => volume.name === name);
  if (!setting) throw archive.volumes.unknown(name);
  if (setting.kind !== 's3' || !setting.writable) throw refused(name, 'only a writable bucket has an owner');
  // A rebuild is refused while a volume is missing. This one may be.
  for (const { name: other } of archive.connector.volumes) {
    const failure = other === name ? undefined : archive.volumes.failureOf(other);
    if (failure && failure.code !== 'VOLUME_TAKEN') throw failure;
  }
  const taking = await VolumeOwner.beingTaken(archive.directory);
  const taken = archive.connector.volumes.filter((one) => one === setting || taking.includes(one.name));
  for (const one of taken) await archive.exclusive(() => archive.volumes.put(archive.directory, one, true));
  // Another bucket has to be taken by a command of its own, which makes the catalog again.
  if (archive.volumes.failures().length > 0) return false;
  await rebuildCatalog(archive, options);
  await VolumeOwner.endTaking(archive.directory);
  return true;
}

/** A file in two volumes would be two segments, and a change of one would break the other. */
async function refuseNested(archive: OpenedArchive, name: string, path: string): Promise<void> {
  const place = await realPlace(path);
  for (const [other, directory] of await directoriesOf(archive)) {
    if (isWithin(place, directory)) throw refused(name, `this directory is inside of that of the volume ${other}`);
    if (isWithin(directory, place)) throw refused(name, `the directory of the volume ${other} is inside of this one`);
  }
}

/**
 * The files to add, without segments of the archive. An added directory may contain the archive itself. Adding its
 * segments would bring back deleted captures, and would copy captures from one collection to another.
 */
export async function withoutOwnFiles(
  archive: OpenedArchive,
  files: readonly string[],
  remote: RemoteOptions = {},
): Promise<string[]> {
  const directories = await directoriesOf(archive);
  const foreign: string[] = [];
  for (const file of files) {
    if (isRemoteUrl(file)) {
      if (!isOwnObject(archive, placeOf(archive, file, remote))) foreign.push(file);
      continue;
    }
    const place = await realPlace(resolve(file));
    if (!directories.some(([, directory]) => isWithin(place, directory))) foreign.push(file);
  }
  return foreign;
}

/** Names and directories of the volumes that are directories. */
export function directoriesOf(archive: OpenedArchive): Promise<[name: string, directory: string][]> {
  const settings = archive.connector.volumes.filter(({ kind }) => kind === 'directory');
  return Promise.all(settings.map(async ({ name, path }) => [name, await realPlace(resolve(archive.directory, path))]));
}

/** The real path, with links followed in the part of it that exists. */
export async function realPlace(path: string): Promise<string> {
  return realpath(path).catch(async () => {
    const parent = dirname(path);
    return parent === path ? path : join(await realPlace(parent), basename(path));
  });
}

export function isWithin(path: string, directory: string): boolean {
  const inside = relative(directory, path);
  return inside === '' || (inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside));
}

/** Makes a volume read-only or writable. Its open segments are sealed first. */
export async function setVolumeWritable(archive: OpenedArchive, name: string, writable: boolean): Promise<void> {
  const setting = archive.connector.volumes.find((volume) => volume.name === name);
  if (!setting) throw archive.volumes.unknown(name);
  if (setting.kind === 'linked') throw refused(name, 'files that were added in place are never written to');
  if (setting.writable === writable) return;
  const changed: VolumeSetting = { ...setting, writable };
  // A volume that another archive writes to could not be opened afterwards, not even for reading.
  if (writable && changed.kind === 'directory') await volumeWriter(archive.directory, changed);
  await archive.exclusive(async () => {
    // Interrupted swaps are finished while the volume is writable, since they have files to remove.
    await finishSwaps(archive);
    await sealOpenSegments(archive, ({ volume }) => volume === name);
    const volumes = archive.connector.volumes.map((volume) => (volume.name === name ? changed : volume));
    await archive.changeConnector({ ...archive.connector, volumes });
    await archive.volumes.put(archive.directory, changed);
    // Its share of the contents is in the other volumes, or its own contents belong to the others.
    if (archive.connector.policies.distribution === 'hash') await noteDisplaced(archive, [name]);
  });
}

/** Seals the open segments that are meant. The catalog has all of their records, since changes run one at a time. */
export async function sealOpenSegments(
  { segmentWriter, segmentRegistry }: OpenedArchive,
  isMeant: (segment: Segment) => boolean,
): Promise<void> {
  await segmentWriter.dropEmpty();
  for (const open of segmentWriter.openSegments()) {
    if (!isMeant(open.segment)) continue;
    const sealed = await segmentWriter.seal(open);
    if (sealed) segmentRegistry.grow(sealed);
  }
}

/** The volume of files that are added in place. It is created for the first such file. */
export async function linkedVolume(archive: OpenedArchive): Promise<LinkedVolume> {
  if (archive.cluster) {
    const detail = 'other machines share this archive, and would not find the file where it lies on this one';
    throw new PinakesError('NOT_LINKABLE', { detail });
  }
  const known = archive.connector.volumes.find((volume) => volume.kind === 'linked');
  if (!known) {
    if (archive.connector.volumes.some((volume) => volume.name === LINKED_VOLUME.name))
      throw refused(LINKED_VOLUME.name, 'this name is reserved for files that are added in place');
    await archive.exclusive(async () => {
      // Another call may have created it while this one waited.
      if (archive.connector.volumes.some(({ kind }) => kind === 'linked')) return;
      await createVolume(archive.directory, LINKED_VOLUME);
      await archive.volumes.put(archive.directory, LINKED_VOLUME);
      await archive.changeConnector({ ...archive.connector, volumes: [...archive.connector.volumes, LINKED_VOLUME] });
    });
  }
  const { name } = known ?? LINKED_VOLUME;
  const volume = archive.volumes.linked(name);
  if (!volume) throw archive.volumes.failureOf(name) ?? new PinakesError('VOLUME_MISSING', { where: `volume ${name}` });
  return volume;
}

function refused(name: string, detail: string): PinakesError {
  return new PinakesError('BAD_ARGUMENT', { where: `volume ${name}`, detail });
}

/**
 * The path as the connector has it: relative inside of the archive, so that the archive can be moved, otherwise
 * absolute.
 */
function placeFor(directory: string, path: string, from?: string): string {
  const absolute = from === undefined ? resolve(path) : resolve(from, path);
  const inside = relative(resolve(directory), absolute);
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? absolute : inside;
}

async function assertDirectory(path: string): Promise<void> {
  const info = await stat(path).catch((cause: unknown) => {
    throw fileError(cause, path);
  });
  if (!info.isDirectory()) throw new PinakesError('BAD_ARGUMENT', { where: path, detail: 'this is not a directory' });
}
