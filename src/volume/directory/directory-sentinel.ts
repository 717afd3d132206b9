/**
 * The sentinel of a directory volume: a hidden file that distinguishes a volume from an empty directory.
 *
 * The mount point of an unmounted disk is an empty directory. Opened as the volume it would look like an archive that
 * lost everything, and new segments would go to the wrong disk. So an empty directory without the sentinel is not a
 * volume.
 *
 * The file is one line of JSON: `{"pinakes":"volume","name":"main"}`.
 */
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { VOLUME_SENTINEL } from '../../base/index.ts';

export type Sentinel = { readonly name: string | undefined };

/** The sentinel of a directory; undefined when there is none. */
export async function readSentinel(directory: string): Promise<Sentinel | undefined> {
  const text = await readFile(join(directory, VOLUME_SENTINEL), 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause;
  });
  if (text === undefined) return undefined;
  // A sentinel whose text is damaged still counts; only the name is unknown.
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string') {
      return { name: value.name };
    }
  } catch {}
  return { name: undefined };
}

/** Writes the sentinel, unless there is one. It is durable once the directory is synced. */
export async function writeSentinel(directory: string, name: string): Promise<void> {
  await using file = await open(join(directory, VOLUME_SENTINEL), 'wx').catch(
    (cause: NodeJS.ErrnoException): undefined => {
      if (cause.code !== 'EEXIST') throw cause;
    },
  );
  await file?.writeFile(`${JSON.stringify({ pinakes: 'volume', name })}\n`);
  await file?.sync();
}

export async function removeSentinel(directory: string): Promise<void> {
  await rm(join(directory, VOLUME_SENTINEL), { force: true });
}

export async function isEmptyDirectory(directory: string): Promise<boolean> {
  return (await readdir(directory)).length === 0;
}
