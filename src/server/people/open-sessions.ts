/** The sessions of an archive: in its database, or in a file of its directory where it has none. */
import type { Database } from '../../database/index.ts';
import { preparePeopleTables } from '../people-tables.ts';
import { SessionFile } from './session-file.ts';
import type { SessionStore } from './session-store.ts';
import { SessionTable } from './session-table.ts';

export async function openSessions(directory: string, database: Database | undefined): Promise<SessionStore> {
  if (!database) return SessionFile.open(directory);
  await preparePeopleTables(database);
  return new SessionTable(database);
}
