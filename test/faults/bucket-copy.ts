/**
 * Copies of a bucket of our volume server, to be looked at after a trial has failed. The server never changes the bytes
 * of a file, so a copy is made of links.
 */
import { linkSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Names of all objects, read from the directory of the server. */
export function objectNames(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((file) =>
    file.isFile() ? [relative(folder, join(file.parentPath, file.name))] : [],
  );
}

/**
 * Copies all objects to `<to>/bucket`, and lists them in `<to>/objects.txt` with times and sizes, oldest first. A copy
 * that is there is replaced. Both directories are on one disk.
 */
export function copyBucket(folder: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const objects: { readonly name: string; readonly time: Date; readonly bytes: number }[] = [];
  for (const name of objectNames(folder)) {
    const copy = join(to, 'bucket', name);
    mkdirSync(dirname(copy), { recursive: true });
    try {
      linkSync(join(folder, name), copy);
    } catch (error) {
      // A request that is still being carried out removed it.
      if ((error as { code?: unknown }).code === 'ENOENT') continue;
      throw error;
    }
    const { mtime, size } = statSync(copy);
    objects.push({ name, time: mtime, bytes: size });
  }
  objects.sort((a, b) => a.time.getTime() - b.time.getTime());
  const lines = objects.map(({ name, time, bytes }) => `${time.toISOString()} ${String(bytes).padStart(9)} ${name}\n`);
  writeFileSync(join(to, 'objects.txt'), lines.join(''));
}
