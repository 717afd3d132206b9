/** database: PostgreSQL for the catalog, the frontier, jobs and users of one archive; the versions of their tables. */

export { binaryRow } from './binary-array.ts';
export {
  type Connection,
  Database,
  type DatabaseOptions,
  type Query,
  quotedName,
  type Row,
  rollBack,
  type Snapshot,
} from './database.ts';
export { type Migration, migrate } from './migrations.ts';
export { Conflict } from './postgres-error.ts';
export { type Column, namesOf, type RowSet, rowSet } from './row-set.ts';
