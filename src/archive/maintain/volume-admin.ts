/** Administration of the volumes of an archive: listing them, adding one, and making one read-only or writable. */
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileError, PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import type { LinkedVolume } from '../../volume/index.ts';
import { isVolumeName, type VolumeSetting } from '../connector.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { createVolume } from '../segment/volume-set.ts';
import { volumeWriter } from '../segment/volume-writer.ts';
import { healArchive } from './heal.ts';
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

export type NewVolume = { readonly name: string; readonly path: string; readonly isReadOnly?: boolean };

export type AddVolumeOptions = {
  readonly onProgress?: (segment: Segment) => void;
  readonly signal?: AbortSignal | undefined;
};

/** Adds a directory as a volume. Its segments become part of the archive. */
export async function addVolume(
  archive: OpenedArchive,
  { name, path, isReadOnly }: NewVolume,
  { onProgress, signal }: AddVolumeOptions = {},
): Promise<void> {
  if (!isVolumeName(name)) throw refused(name, 'a name has lower-case letters, digits and dashes');
  if (archive.connector.volumes.some((volume) => volume.name === name))
    throw refused(name, 'there is a volume of this name already');
  const place = placeFor(archive.directory, path);
  if (archive.connector.volumes.some((volume) => placeFor(archive.directory, volume.path, archive.directory) === place))
    throw refused(name, 'this directory is a volume of the archive already');
  await refuseNested(archive, name, resolve(archive.directory, place));
  const setting: VolumeSetting = { name, kind: 'directory', path: place, writable: !isReadOnly };
  await archive.exclusive(async () => {
    if (isReadOnly) await assertDirectory(resolve(archive.directory, place));
    else await createVolume(archive.directory, setting);
    await archive.volumes.put(archive.directory, setting);
    await archive.changeConnector({ ...archive.connector, volumes: [...archive.connector.volumes, setting] });
    await healArchive(archive, { signal, onProgress });
    for (const file of await archive.volumes.misnamed(name)) {
      const message = 'it is left out: names have letters, digits, full stops, dashes and underscores';
      archive.report({ code: 'segment-misnamed', level: 'warning', file: `${name}: ${file}`, offset: 0, message });
    }
  });
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
export async function withoutOwnFiles(archive: OpenedArchive, files: readonly string[]): Promise<string[]> {
  const directories = await directoriesOf(archive);
  const foreign: string[] = [];
  for (const file of files) {
    const place = await realPlace(resolve(file));
    if (!directories.some(([, directory]) => isWithin(place, directory))) foreign.push(file);
  }
  return foreign;
}

/** Names and directories of the volumes that are directories. */
function directoriesOf(archive: OpenedArchive): Promise<[name: string, directory: string][]> {
  const settings = archive.connector.volumes.filter(({ kind }) => kind === 'directory');
  return Promise.all(settings.map(async ({ name, path }) => [name, await realPlace(resolve(archive.directory, path))]));
}

/** The real path, with links followed in the part of it that exists. */
async function realPlace(path: string): Promise<string> {
  return realpath(path).catch(async () => {
    const parent = dirname(path);
    return parent === path ? path : join(await realPlace(parent), basename(path));
  });
}

function isWithin(path: string, directory: string): boolean {
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
  if (writable) await volumeWriter(archive.directory, changed);
  await archive.exclusive(async () => {
    // Interrupted swaps are finished while the volume is writable, since they have files to remove.
    await finishSwaps(archive);
    await sealOpenSegments(archive, ({ volume }) => volume === name);
    const volumes = archive.connector.volumes.map((volume) => (volume.name === name ? changed : volume));
    await archive.changeConnector({ ...archive.connector, volumes });
    await archive.volumes.put(archive.directory, changed);
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
