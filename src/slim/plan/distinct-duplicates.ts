/**
 * The duplicates of resolved manifests as the files at hand have them. Manifests may name a file twice, stand in each
 * other, or come from several machines that have it at different paths; then a record is listed several times, and the
 * original that one line names can be the duplicate itself, or the duplicate of another line.
 *
 * None comes that a line takes for an original: whatever the manifests say, one that others will lean on stays (I5). Of
 * an original whose file is not here, which can be here under another name, only URI and date tell which it is. A
 * duplicate that is listed several times comes several times; the plan of its file takes it once. One in a file that is
 * not at hand does not come: what becomes of it is decided where it lies.
 */
import { type Database, sqlLiteral } from '../database.ts';

export type FileLookup = {
  readonly fingerprintOf: (file: string) => string | undefined;
  readonly numberOf: (file: string) => number | undefined;
};

const FILES_AT_ONCE = 1000;
const IS_ITSELF = 'coalesce(f.fingerprint = o.fingerprint AND m.record_offset = m.original_offset, false)';

/** The files that `source` names, each name once. */
export async function namedFiles(database: Database, source: string): Promise<string[]> {
  const named = `(SELECT file FROM ${source} UNION SELECT original_file FROM ${source} WHERE original_file IS NOT NULL)`;
  const files: string[] = [];
  for await (const [file] of database.rows(['file'], named)) files.push(file!);
  return files;
}

/**
 * What SQL can read the duplicates of `source` from, which names `files`. `fingerprintOf` says the same of all names of a
 * file, and nothing of one that is not here; `numberOf` says which of the run's files it is, and nothing of others. The
 * number comes as the column `file_number`.
 */
export async function distinctDuplicates(
  database: Database,
  source: string,
  files: readonly string[],
  { fingerprintOf, numberOf }: FileLookup,
): Promise<string> {
  await numberFiles(database, files, { fingerprintOf, numberOf });
  const placed = `${source} AS m JOIN file_identity AS f ON f.file = m.file LEFT JOIN file_identity AS o ON o.file = m.original_file
    WHERE m.copy_number > 1 AND m.yields AND NOT ${IS_ITSELF}`;
  // Numbers alone, so that it stays small.
  await database.run(`CREATE OR REPLACE TEMP TABLE named_original AS
    SELECT DISTINCT o.fingerprint, m.original_offset AS record_offset FROM ${placed} AND o.fingerprint IS NOT NULL`);
  await database.run(`CREATE OR REPLACE TEMP TABLE named_unseen AS
    SELECT DISTINCT hash(m.original_uri, m.original_date) AS place FROM ${placed} AND o.fingerprint IS NULL`);
  return `(SELECT d.* FROM (SELECT m.*, f.fingerprint, f.file_number FROM ${placed} AND f.file_number IS NOT NULL) AS d
    ANTI JOIN named_original AS n ON n.fingerprint = d.fingerprint AND n.record_offset = d.record_offset
    ANTI JOIN named_unseen AS u ON u.place = hash(d.uri, d.date))`;
}

/** Numbers the files, one fingerprint for all names of a file. */
async function numberFiles(
  database: Database,
  files: readonly string[],
  { fingerprintOf, numberOf }: FileLookup,
): Promise<void> {
  await database.run(
    'CREATE OR REPLACE TEMP TABLE file_identity (file VARCHAR, fingerprint INTEGER, file_number INTEGER)',
  );
  const numbers = new Map<string, number>();
  for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
    const values = files.slice(at, at + FILES_AT_ONCE).map((file) => {
      const fingerprint = fingerprintOf(file);
      if (fingerprint === undefined) return `(${sqlLiteral(file)}, NULL, NULL)`;
      const number = numbers.get(fingerprint) ?? numbers.size;
      numbers.set(fingerprint, number);
      return `(${sqlLiteral(file)}, ${number}, ${numberOf(file) ?? 'NULL'})`;
    });
    await database.run(`INSERT INTO file_identity VALUES ${values.join(', ')}`);
  }
}
