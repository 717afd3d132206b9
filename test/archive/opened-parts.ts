/**
 * Opens archives whose catalog and volumes a test can reach. The archive hides them, so the test creates both, passes
 * them in and keeps them.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type Archive, type ArchiveOptions, openArchive, readConnector, VolumeSet } from '../../src/archive/index.ts';
import { toHex, utf8 } from '../../src/base/index.ts';
import { type Catalog, openLevelCatalog, type Segment } from '../../src/catalog/index.ts';
import { type AnyVolume, isPartVolume, type ObjectInfo, type Volume } from '../../src/volume/index.ts';

type OpenedParts = {
  readonly catalog: Catalog;
  readonly volumes: VolumeSet;
  readonly options: ArchiveOptions;
};

const partsByArchive = new WeakMap<Archive, OpenedParts>();

/** Opens an archive like `openArchive`, with the catalog and the volumes of `options` or with those on disk. */
export async function openWithParts(directory: string, options: ArchiveOptions): Promise<Archive> {
  const connector = await readConnector(directory);
  const catalog = options.catalog ?? (await openLevelCatalog(join(directory, 'catalog')));
  const volumes = options.volumes ?? (await VolumeSet.open(directory, connector.volumes, options));
  const archive = await openArchive(directory, { ...options, catalog, volumes });
  partsByArchive.set(archive, { catalog, volumes, options });
  return archive;
}

export function catalogOf(archive: Archive): Catalog {
  return partsOf(archive).catalog;
}

export function volumesOf(archive: Archive): VolumeSet {
  return partsOf(archive).volumes;
}

function partsOf(archive: Archive): OpenedParts {
  const parts = partsByArchive.get(archive);
  if (!parts) throw new Error('this archive was not opened by openWithParts');
  return parts;
}

/** All objects of a volume. */
export async function objectsOf(volume: AnyVolume): Promise<ObjectInfo[]> {
  return isPartVolume(volume) ? (await Array.fromAsync(volume.list())).flat() : volume.list();
}

/** A volume of an archive that can be appended to. */
export function volumeOf(archive: Archive, name = 'main'): Volume {
  const volume = volumesOf(archive).get(name);
  assert(!isPartVolume(volume), 'the volume can be appended to');
  return volume;
}

/**
 * Leaves what an older version left after it deleted the records of a segment that are deleted now: a file of
 * tombstones in this volume, and the note that the catalog has carried them out.
 */
export async function leaveTombstones(archive: Archive, segment: Segment, volumeName = segment.volume): Promise<void> {
  const volume = volumeOf(archive, volumeName);
  const lines = (await archive.deletedRecords(segment)).map(({ offset, block }) => {
    return `${offset} ${block ? `${toHex(block.digest)}~${block.overflow}` : '-'}\n`;
  });
  const bytes = utf8(lines.join(''));
  await volume.create(`${segment.name}.tombstones`);
  await volume.append(`${segment.name}.tombstones`, 0, [bytes]);
  await volume.sync([`${segment.name}.tombstones`]);
  const note = `tombstones:${volumeName}:${segment.name}`;
  await catalogOf(archive).commit({ putNotes: { [note]: String(bytes.length) } });
}

/** The fingerprint by which the archive identifies a content: its digest, except in tests of collisions. */
export function fingerprintIn(archive: Archive, digest: Uint8Array): Uint8Array {
  const { fingerprint } = partsByArchive.get(archive)?.options ?? {};
  return fingerprint ? fingerprint(digest) : digest;
}

/** Runs work with the volumes of an archive. When the archive hides them, they are opened a second time for reading. */
export async function withVolumes<T>(archive: Archive, work: (volumes: VolumeSet) => Promise<T>): Promise<T> {
  const parts = partsByArchive.get(archive);
  if (parts) return work(parts.volumes);
  const settings = archive.connector.volumes.map((setting) => ({ ...setting, writable: false }));
  const volumes = await VolumeSet.open(archive.directory, settings, { clock: Date.now });
  try {
    return await work(volumes);
  } finally {
    await volumes.close();
  }
}
