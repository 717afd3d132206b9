/** Work on a catalog before the archive is opened: checking it for damage, and removing it. */
import { join } from 'node:path';
import { checkDatabaseFiles, isLevelCatalog, removeLevelCatalog } from '../../catalog/index.ts';
import { readConnector } from '../connector.ts';

export const CATALOG_DIRECTORY = 'catalog';

/** Whether there is a catalog that can be opened and read: one that is missing or to be removed would be made anew. */
export function hasCatalog(directory: string): boolean {
  return isLevelCatalog(join(directory, CATALOG_DIRECTORY));
}

/** Whether the bytes of the catalog are undamaged. Reads all of them. */
export async function isCatalogSound(directory: string): Promise<boolean> {
  await readConnector(directory);
  for await (const _ of checkDatabaseFiles(join(directory, CATALOG_DIRECTORY))) return false;
  return true;
}

/** Removes a damaged catalog, so that the archive can be opened and rebuilt. */
export async function dropCatalog(directory: string): Promise<void> {
  await readConnector(directory);
  await removeLevelCatalog(join(directory, CATALOG_DIRECTORY));
}
