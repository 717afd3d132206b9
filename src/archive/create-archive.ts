/**
 * Creates an archive: its directory, its first volume and its connector. In a cluster: the archive in the database,
 * unless another machine has created it, and the directory of this machine.
 */
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type IdSource, PinakesError } from '../base/index.ts';
import { createInDatabase } from './cluster/create.ts';
import {
  ARCHIVE_VERSION,
  CONNECTOR_NAME,
  DEFAULT_CRAWL,
  DEFAULT_POLICIES,
  MAIN_VOLUME,
  type Policies,
  writeConnector,
} from './connector.ts';
import { createVolume, makeDirectory } from './segment/volume-set.ts';

export type InitOptions = {
  readonly name?: string;
  readonly policies?: Partial<Policies>;
  /** The address of the database of a cluster. */
  readonly catalog?: { readonly address: string; readonly newId: IdSource };
};

/**
 * Creates an archive in a directory that does not have one. Returns whether the archive is new: the database of a
 * cluster may have it already.
 */
export async function createArchive(directory: string, options: InitOptions = {}): Promise<boolean> {
  if (directory === '') throw new PinakesError('BAD_ARGUMENT', { where: "''", detail: 'name the directory to create' });
  await makeDirectory(directory);
  const exists = await stat(join(directory, CONNECTOR_NAME)).then(
    () => true,
    () => false,
  );
  if (exists) throw new PinakesError('ARCHIVE_EXISTS', { where: directory });
  const connector = {
    version: ARCHIVE_VERSION,
    name: options.name ?? basename(resolve(directory)),
    policies: { ...DEFAULT_POLICIES, ...options.policies },
    crawl: DEFAULT_CRAWL,
  };
  if (options.catalog) {
    const { address, newId } = options.catalog;
    const { isNew, shown, settings } = await createInDatabase(address, { ...connector, volumes: [] }, newId);
    await writeConnector(directory, { ...settings, catalog: shown });
    return isNew;
  }
  await createVolume(directory, MAIN_VOLUME);
  await writeConnector(directory, { ...connector, volumes: [MAIN_VOLUME] });
  return true;
}
