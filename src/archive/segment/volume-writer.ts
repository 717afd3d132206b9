/**
 * Which archive writes to a volume that lies outside of its directory: `.pinakes-archive` in the volume holds the
 * archive's path, as JSON. A copy of an archive names the same outer directories as the archive itself, and what one of
 * the two deletes and compacts would be gone from the other.
 *
 * An archive that was moved is no longer where the file says, and takes the volume over. The file is a warning sign and
 * not a lock: a volume without it is as good.
 */
import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import { readConnector, type VolumeSetting } from '../connector.ts';

const WRITER_NAME = '.pinakes-archive';

/**
 * Fails when another archive writes to the volume. What is given back is to be called when the volume was opened: it
 * says that this archive does.
 */
export async function volumeWriter(archive: string, { name, path }: VolumeSetting): Promise<() => Promise<void>> {
  const place = await realPlace(resolve(archive, path));
  const own = await realPlace(archive);
  if (!place || !own || place.startsWith(own + sep)) return async () => {};
  const file = join(place, WRITER_NAME);
  const writer = await readWriter(file);
  if (writer !== undefined && !(await isSame(writer, own)) && (await writesTo(writer, place))) {
    const detail = `the archive ${writer} writes to it; when that is no more, remove ${file}`;
    throw new PinakesError('VOLUME_TAKEN', { where: `volume ${name} at ${place}`, detail });
  }
  return async () => {
    if (writer === own) return;
    // On a disk that is full there will be no sign, and room can still be made.
    await writeFile(`${file}.new`, `${JSON.stringify(own)}\n`)
      .then(() => rename(`${file}.new`, file))
      .catch(() => {});
  };
}

/** Takes back the sign of the archive that wrote to the volume in this directory. */
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

/**
 * Whether there is an archive that has this directory for a volume that may be written to. One that cannot be asked is
 * taken to have.
 */
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
