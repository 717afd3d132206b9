/**
 * Removes a volume from an archive. Only an empty volume that is available is removed, since the archive would lose its
 * contents.
 *
 * The directory and other files in it stay. The sentinel that makes it a volume is removed last, so that the directory
 * can become a volume under another name.
 */
import { PinakesError } from '../../base/index.ts';
import { listedObjects } from '../../ledger/index.ts';
import { removeDirectorySentinel } from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { TOMBSTONES_SUFFIX } from '../segment/tombstones.ts';
import { removeWriter } from '../segment/volume-writer.ts';
import { SEGMENT_NAME } from './found-segment.ts';
import { finishSwaps } from './segment-swap.ts';

/** Removes an empty volume from the connector. */
export async function removeVolume(archive: OpenedArchive, name: string): Promise<void> {
  await archive.exclusive(async () => {
    const setting = archive.connector.volumes.find((volume) => volume.name === name);
    if (!setting) throw archive.volumes.unknown(name);
    const volumes = archive.connector.volumes.filter((volume) => volume !== setting);
    if (volumes.length === 0) {
      const detail = 'it is the only one, and an archive has at least one';
      throw new PinakesError('BAD_ARGUMENT', { where: `volume ${name}`, detail });
    }
    await finishSwaps(archive);
    await assertEmpty(archive, name);
    await archive.changeConnector({ ...archive.connector, volumes });
    const { directory } = await archive.volumes.remove(name);
    if (directory === undefined || !setting.writable) return;
    // The volume is removed even if these files stay. The directory then cannot become a volume under another name.
    await removeWriter(directory).catch(() => {});
    await removeDirectorySentinel(directory).catch(() => {});
  });
}

async function assertEmpty(archive: OpenedArchive, name: string): Promise<void> {
  const where = `volume ${name}`;
  const failure = archive.volumes.failureOf(name);
  const objects = failure ? failure : await listedObjects(archive.stores.get(name)).catch(missing);
  if (objects instanceof PinakesError) {
    const detail = `${objects.detail ?? objects.code}; whether it is empty can be checked only while it is available`;
    throw new PinakesError('VOLUME_MISSING', { where: objects.where ?? where, detail, cause: objects });
  }
  const known = (await archive.segmentRegistry.all()).filter(({ volume }) => volume === name);
  const found = objects.map((object) => object.name).filter((object) => SEGMENT_NAME.test(object));
  const segments = new Set([...known.map((segment) => segment.name), ...found]);
  const misnamed = await archive.volumes.misnamed(name);
  const damagedLines = archive.volumes.linked(name)?.damagedLines.length ?? 0;
  const tombstones = objects.filter((object) => object.name.endsWith(TOMBSTONES_SUFFIX));
  const held = [
    counted(segments.size, 'segment'),
    counted(misnamed.length, 'file with an unusable name', 'files with unusable names'),
    counted(damagedLines, 'damaged line in its list of files', 'damaged lines in its list of files'),
    counted(tombstones.length, 'file of tombstones', 'files of tombstones'),
  ];
  const detail = held.filter((text) => text !== '').join(', ');
  if (detail !== '') throw new PinakesError('VOLUME_NOT_EMPTY', { where, detail });
}

function counted(count: number, one: string, several = `${one}s`): string {
  return count === 0 ? '' : `${count} ${count === 1 ? one : several}`;
}

function missing(error: unknown): PinakesError {
  if (error instanceof PinakesError && error.code === 'VOLUME_MISSING') return error;
  throw error;
}
