/** Throws the index away; the next indexing makes it again. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SEARCH_FILE } from './database.ts';

export async function dropIndex(directory: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(join(directory, SEARCH_FILE + suffix), { force: true });
}
