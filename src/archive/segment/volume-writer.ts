/**
 * Records which archive writes to a volume outside of its directory: `.pinakes-archive` in the volume contains the path
 * of the archive, as JSON. A copy of an archive names the same outside directories as the original, so records that one
 * of the two deletes and compacts would be lost to the other.
 *
 * An archive that was moved is no longer at the path in the file, and takes the volume over. The file is a warning and
 * not a lock: a volume works without it.
 */
import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import { readConnector, type VolumeSetting } from '../connector.ts';

const WRITER_NAME = '.pinakes-archive';

/**
 * Fails when another archive writes to the volume. The returned function records this archive as its writer, and is
 * called when the volume was opened.
 */
export async function volumeWriter(archive: string, { name, path }: VolumeSetting): Promise<() => Promise<void>> {
  const place = await realPlace(resolve(archive, path));
  const own = await realPlace(archive);
  if (!place || !own || place.startsWith(own + sep)) return async () => {};
  const file = join(place, WRITER_NAME);
  const writer = await readWriter(file);
  if (writer !== undefined && !(await isSame(writer, own)) && (await writesTo(writer, place))) {
    const detail = `the archive ${writer} writes to it; if that archive no longer exists, remove ${file}`;
    throw new PinakesError('VOLUME_TAKEN', { where: `volume ${name} at ${place}`, detail });
  }
  return async () => {
    if (writer === own) return;
    // On a full disk the file cannot be written, but the volume can still be used to free space.
    await writeFile(`${file}.new`, `${JSON.stringify(own)}\n`)
      .then(() => rename(`${file}.new`, file))
      .catch(() => {});
  };
}

/** Removes the file of the archive that wrote to the volume in this directory. */
export async function removeWriter(directory: string): Promise<void> {
  await rm(join(directory, WRITER_NAME), { force: true });
}

async function readWriter(file: string): Promise<string | undefined> {
  try {
    const writer: unknown = JSON.parse(await readFile(file, 'utf8'));
    return typeof writer === 'string' ? writer : undefined;
  } catch {
    return undefined;
  }
}

/** A directory that is mounted in two places has two names. */
async function isSame(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path, { bigint: true }).catch(() => undefined)));
  return one === other || (a !== undefined && a.dev === b?.dev && a.ino === b.ino);
}

/** Whether the archive at a path has this directory as a writable volume. True for an archive that cannot be read. */
async function writesTo(archive: string, place: string): Promise<boolean> {
  try {
    const { volumes } = await readConnector(archive);
    const places = await Promise.all(
      volumes.map(({ writable, path }) => (writable ? realPlace(resolve(archive, path)) : undefined)),
    );
    return places.includes(place);
  } catch (error) {
    return !(error instanceof PinakesError && ['ARCHIVE_MISSING', 'FILE_NOT_DIRECTORY'].includes(error.code));
  }
}

function realPlace(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}
