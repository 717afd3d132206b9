/** Creates an archive of a cluster in its database, or finds the one that another machine has created there. */
import type { IdSource } from '../../base/index.ts';
import { openPostgresCatalog } from '../../catalog/index.ts';
import type { Connector } from '../connector.ts';
import { parseCatalogAddress } from './catalog-address.ts';
import { settingsOrNew } from './settings.ts';

export type CreatedInDatabase = {
  readonly isNew: boolean;
  /** The address without a password. */
  readonly shown: string;
  readonly settings: Connector;
};

export async function createInDatabase(address: string, fresh: Connector, newId: IdSource): Promise<CreatedInDatabase> {
  const { url, schema, shown } = parseCatalogAddress(address);
  const catalog = await openPostgresCatalog({ url, schema });
  try {
    const id = newId().replace(/^<urn:uuid:|>$/g, '');
    const { connector } = await settingsOrNew(catalog, shown, { ...fresh, id }, newId);
    return { isNew: connector.id === id, shown, settings: connector };
  } finally {
    await catalog.close();
  }
}
