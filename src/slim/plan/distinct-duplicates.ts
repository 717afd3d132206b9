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
import { type Database, quoted } from '../database.ts';

export type FileLookup = {
  readonly markOf: (file: string) => string | undefined;
  readonly numberOf: (file: string) => number | undefined;
};

const FILES_AT_ONCE = 1000;
const IS_ITSELF = 'coalesce(f.mark = o.mark AND m.record_offset = m.original_offset, false)';

/** The files that `source` names, each name once. */
export async function filesNamed(database: Database, source: string): Promise<string[]> {
  const named = `(SELECT file FROM ${source} UNION SELECT original_file FROM ${source} WHERE original_file IS NOT NULL)`;
  const files: string[] = [];
  for await (const [file] of database.rows(['file'], named)) files.push(file!);
  return files;
}

/**
 * What SQL can read the duplicates of `source` from, which names `files`. `markOf` says the same of all names of a
 * file, and nothing of one that is not here; `numberOf` says which of the run's files it is, and nothing of others. The
 * number comes as the column `file_number`.
 */
export async function distinctDuplicates(
  database: Database,
  source: string,
  files: readonly string[],
  { markOf, numberOf }: FileLookup,
): Promise<string> {
  await markFiles(database, files, { markOf, numberOf });
  const placed = `${source} AS m JOIN file_fingerprint AS f ON f.file = m.file LEFT JOIN file_fingerprint AS o ON o.file = m.original_file
    WHERE m.copy_number > 1 AND m.yields AND NOT ${IS_ITSELF}`;
  // Numbers alone, so that it stays small.
  await database.run(`CREATE OR REPLACE TEMP TABLE named_original AS
    SELECT DISTINCT o.mark, m.original_offset AS record_offset FROM ${placed} AND o.mark IS NOT NULL`);
  await database.run(`CREATE OR REPLACE TEMP TABLE named_unseen AS
    SELECT DISTINCT hash(m.original_uri, m.original_date) AS place FROM ${placed} AND o.mark IS NULL`);
  return `(SELECT d.* FROM (SELECT m.*, f.mark, f.file_number FROM ${placed} AND f.file_number IS NOT NULL) AS d
    ANTI JOIN named_original AS n ON n.mark = d.mark AND n.record_offset = d.record_offset
    ANTI JOIN named_unseen AS u ON u.place = hash(d.uri, d.date))`;
}

/** Numbers the files, one mark for all names of a file. */
async function markFiles(
  database: Database,
  files: readonly string[],
  { markOf, numberOf }: FileLookup,
): Promise<void> {
  await database.run('CREATE OR REPLACE TEMP TABLE file_fingerprint (file VARCHAR, mark INTEGER, file_number INTEGER)');
  const numbers = new Map<string, number>();
  for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
    const values = files.slice(at, at + FILES_AT_ONCE).map((file) => {
      const mark = markOf(file);
      if (mark === undefined) return `(${quoted(file)}, NULL, NULL)`;
      const number = numbers.get(mark) ?? numbers.size;
      numbers.set(mark, number);
      return `(${quoted(file)}, ${number}, ${numberOf(file) ?? 'NULL'})`;
    });
    await database.run(`INSERT INTO file_fingerprint VALUES ${values.join(', ')}`);
  }
}
