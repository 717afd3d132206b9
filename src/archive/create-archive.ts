/** Creates an archive: its directory, its first volume and its connector. */
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { PinakesError } from '../base/index.ts';
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

export type InitOptions = { readonly name?: string; readonly policies?: Partial<Policies> };

/** Creates an archive in a directory that does not have one. */
export async function createArchive(directory: string, options: InitOptions = {}): Promise<void> {
  if (directory === '') throw new PinakesError('BAD_ARGUMENT', { where: "''", detail: 'name the directory to create' });
  await makeDirectory(directory);
  const exists = await stat(join(directory, CONNECTOR_NAME)).then(
    () => true,
    () => false,
  );
  if (exists) throw new PinakesError('ARCHIVE_EXISTS', { where: directory });
  await createVolume(directory, MAIN_VOLUME);
  const name = options.name ?? basename(resolve(directory));
  await writeConnector(directory, {
    version: ARCHIVE_VERSION,
    name,
    volumes: [MAIN_VOLUME],
    policies: { ...DEFAULT_POLICIES, ...options.policies },
    crawl: DEFAULT_CRAWL,
  });
}
