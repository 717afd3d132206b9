/** Deletes the index. The next run of the indexer makes it again. */
import { join } from 'node:path';
import { SEARCH_FILE } from './database.ts';
import { dropIndexFile, NEW_SEARCH_FILE } from './index-swap.ts';

export async function dropIndex(directory: string): Promise<void> {
  for (const name of [SEARCH_FILE, NEW_SEARCH_FILE]) await dropIndexFile(join(directory, name));
}
