/** Creates an archive of a cluster in its database, or finds the one that another machine has created there. */
import { setTimeout as wait } from 'node:timers/promises';
import { type IdSource, PinakesError } from '../../base/index.ts';
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

/** Another machine may be creating the archive at this moment, which takes it a moment. */
const ATTEMPTS = 40;
const PAUSE_MS = 250;

export async function createInDatabase(address: string, fresh: Connector, newId: IdSource): Promise<CreatedInDatabase> {
  const { url, schema, shown } = parseCatalogAddress(address);
  const catalog = await openPostgresCatalog({ url, schema });
  try {
    const id = newId().replace(/^<urn:uuid:|>$/g, '');
    const { connector } = await patiently(() => settingsOrNew(catalog, shown, { ...fresh, id }, newId));
    return { isNew: connector.id === id, shown, settings: connector };
  } finally {
    await catalog.close();
  }
}

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const isBusy = error instanceof PinakesError && error.code === 'ARCHIVE_BUSY';
      if (!isBusy || attempt >= ATTEMPTS) throw error;
      await wait(PAUSE_MS);
    }
  }
}
