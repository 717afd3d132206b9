import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.ts';

/** Writes a file durably, first under the name `draft`. A crash leaves the old file or the new one. */
export async function replaceFile(path: string, text: string, draft = `${path}.tmp`): Promise<void> {
  {
    await using file = await open(draft, 'w');
    await file.writeFile(text);
    await file.sync();
  }
  await rename(draft, path);
  await syncDirectory(dirname(path));
}
