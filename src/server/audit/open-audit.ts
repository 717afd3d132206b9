/** The audit log of an archive: in its database, or in a file of its directory where it has none. */
import type { Database } from '../../database/index.ts';
import { preparePeopleTables } from '../people-tables.ts';
import { AuditFile } from './audit-file.ts';
import type { AuditLog } from './audit-log.ts';
import { AuditTable } from './audit-table.ts';

export async function openAudit(directory: string, database: Database | undefined): Promise<AuditLog> {
  if (!database) return new AuditFile(directory);
  await preparePeopleTables(database);
  return new AuditTable(database);
}
