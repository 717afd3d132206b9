/** Lets a command use the database of an archive in a cluster without opening the archive. */
import type { Database } from '../../database/index.ts';
import { readConnector } from '../connector.ts';
import { openClusterCatalog } from './open.ts';

/** Calls `work` with the database, or with undefined when the archive is not in a cluster. Fails without an archive. */
export async function withDatabase<Value>(
  directory: string,
  work: (database: Database | undefined) => Promise<Value>,
): Promise<Value> {
  const connector = await readConnector(directory);
  if (connector.catalog === undefined) return work(undefined);
  const { catalog } = await openClusterCatalog(directory, connector);
  try {
    return await work(catalog.database);
  } finally {
    await catalog.close();
  }
}
