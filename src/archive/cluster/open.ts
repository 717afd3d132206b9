/** Opens the catalog of an archive in a cluster, and checks that the database has the archive of the connector. */
import { type CallObserver, PinakesError } from '../../base/index.ts';
import { type Catalog, openPostgresCatalog } from '../../catalog/index.ts';
import type { Connector } from '../connector.ts';
import { addressFor } from './catalog-address.ts';
import { type ClusterSettings, readSettings } from './settings.ts';

type OpeningOptions = {
  readonly catalog?: Catalog;
  readonly observe?: CallObserver | undefined;
};

export async function openClusterCatalog(
  directory: string,
  { catalog: address, id }: Connector,
  { catalog: given, observe }: OpeningOptions = {},
): Promise<{ catalog: Catalog; settings: ClusterSettings }> {
  const { url, schema, shown } = addressFor(address!, process.env);
  const catalog = given ?? (await openPostgresCatalog({ url, schema, observe }));
  try {
    const settings = await readSettings(catalog, directory);
    if (settings?.connector.id === id && settings) return { catalog, settings };
    const detail = settings
      ? `${shown} has another archive, ${settings.connector.name}`
      : `${shown} has no archive; if the database was lost, run \`pinakes init --catalog ${shown}\` in another directory, and take the volumes over`;
    throw new PinakesError('CONNECTOR_INVALID', { where: directory, detail });
  } catch (error) {
    await catalog.close();
    throw error;
  }
}
