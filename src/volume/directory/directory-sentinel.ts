/**
 * The mark of a directory volume: a hidden file that tells a volume from an empty directory.
 *
 * When a disk is not mounted its mount point is still there, as an empty directory. Taken for the volume it would look
 * like an archive that lost everything, and new segments would land on the wrong disk. So an empty directory without
 * the mark is no volume.
 *
 * The file is one line of JSON: `{"pinakes":"volume","name":"main"}`.
 */
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { VOLUME_SENTINEL } from '../../base/index.ts';

export type Mark = { readonly name: string | undefined };

/** The mark of a directory, or undefined when it bears none. */
export async function readMark(directory: string): Promise<Mark | undefined> {
  let text: string;
  try {
    text = await readFile(join(directory, VOLUME_SENTINEL), 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw cause;
  }
  // A mark whose text is damaged still marks; only the name is not known.
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string') {
      return { name: value.name };
    }
  } catch {}
  return { name: undefined };
}

/** Marks a directory, unless it is marked already. The mark is durable once the directory is synced. */
export async function writeMark(directory: string, name: string): Promise<void> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(join(directory, VOLUME_SENTINEL), 'wx');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw cause;
  }
  try {
    await file.writeFile(`${JSON.stringify({ pinakes: 'volume', name })}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

export async function removeMark(directory: string): Promise<void> {
  await rm(join(directory, VOLUME_SENTINEL), { force: true });
}

export async function isEmptyDirectory(directory: string): Promise<boolean> {
  return (await readdir(directory)).length === 0;
}
