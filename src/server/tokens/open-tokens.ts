/** The tokens of an archive: in its database, or in files of its directory where it has none. */
import type { Database } from '../../database/index.ts';
import { preparePeopleTables } from '../people-tables.ts';
import { TokenFile } from './token-file.ts';
import type { TokenStore } from './token-store.ts';
import { TokenTable } from './token-table.ts';

export async function openTokens(directory: string, database: Database | undefined): Promise<TokenStore> {
  if (!database) return new TokenFile(directory);
  await preparePeopleTables(database);
  return new TokenTable(database);
}
