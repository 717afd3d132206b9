/**
 * Selects the duplicates in resolved manifests that this run may replace. Manifests may name a file twice, overlap, or
 * come from several machines that have the file at different paths. Then a record is listed several times, and the
 * original of one line can be the duplicate itself, or the duplicate of another line.
 *
 * A duplicate that any line names as an original is left out: a record that revisits will refer to stays, whatever the
 * manifests say (I5). An original whose file is not here may be here under another name, so it is recognized by URI and
 * date. A duplicate that is listed several times is returned several times; the plan of its file takes it once. A
 * duplicate in a file that is not here is left out: the run on the other machine decides about it.
 */
import { type Database, sqlLiteral } from '../database.ts';

export type FileLookup = {
  readonly fingerprintOf: (file: string) => string | undefined;
  readonly numberOf: (file: string) => number | undefined;
};

const FILES_AT_ONCE = 1000;
const IS_ITSELF = 'coalesce(f.fingerprint = o.fingerprint AND m.record_offset = m.original_offset, false)';

/** The file names in `source`, each once. */
export async function namedFiles(database: Database, source: string): Promise<string[]> {
  const named = `(SELECT file FROM ${source} UNION SELECT original_file FROM ${source} WHERE original_file IS NOT NULL)`;
  const files: string[] = [];
  for await (const [file] of database.rows(['file'], named)) files.push(file!);
  return files;
}

/**
 * The SQL source of the duplicates of `source`, which names `files`. `lookup.fingerprintOf` returns the same text for
 * all names of a file, and undefined for a file that is not here. `lookup.numberOf` returns the number of a file of the
 * run, which becomes the column `file_number`, and undefined for other files.
 */
export async function distinctDuplicates(
  database: Database,
  source: string,
  files: readonly string[],
  lookup: FileLookup,
): Promise<string> {
  await numberFiles(database, files, lookup);
  const placed = `${source} AS m JOIN file_identity AS f ON f.file = m.file LEFT JOIN file_identity AS o ON o.file = m.original_file
    WHERE m.copy_number > 1 AND m.yields AND NOT ${IS_ITSELF}`;
  // This table has only numbers, so that it stays small.
  await database.run(`CREATE OR REPLACE TEMP TABLE named_original AS
    SELECT DISTINCT o.fingerprint, m.original_offset AS record_offset FROM ${placed} AND o.fingerprint IS NOT NULL`);
  await database.run(`CREATE OR REPLACE TEMP TABLE named_unseen AS
    SELECT DISTINCT hash(m.original_uri, m.original_date) AS place FROM ${placed} AND o.fingerprint IS NULL`);
  return `(SELECT d.* FROM (SELECT m.*, f.fingerprint, f.file_number FROM ${placed} AND f.file_number IS NOT NULL) AS d
    ANTI JOIN named_original AS n ON n.fingerprint = d.fingerprint AND n.record_offset = d.record_offset
    ANTI JOIN named_unseen AS u ON u.place = hash(d.uri, d.date))`;
}

/** Fills the table `file_identity`: all names of a file get the same fingerprint number. */
async function numberFiles(database: Database, files: readonly string[], lookup: FileLookup): Promise<void> {
  await database.run(
    'CREATE OR REPLACE TEMP TABLE file_identity (file VARCHAR, fingerprint INTEGER, file_number INTEGER)',
  );
  const numbers = new Map<string, number>();
  for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
    const values = files.slice(at, at + FILES_AT_ONCE).map((file) => {
      const fingerprint = lookup.fingerprintOf(file);
      if (fingerprint === undefined) return `(${sqlLiteral(file)}, NULL, NULL)`;
      const number = numbers.get(fingerprint) ?? numbers.size;
      numbers.set(fingerprint, number);
      return `(${sqlLiteral(file)}, ${number}, ${lookup.numberOf(file) ?? 'NULL'})`;
    });
    await database.run(`INSERT INTO file_identity VALUES ${values.join(', ')}`);
  }
}
