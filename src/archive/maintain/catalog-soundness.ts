/** Work on a catalog before the archive is opened: checking it for damage, and removing it. */
import { join } from 'node:path';
import { checkDatabaseFiles, removeLevelCatalog } from '../../catalog/index.ts';
import { readConnector } from '../connector.ts';

export const CATALOG_DIRECTORY = 'catalog';

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
