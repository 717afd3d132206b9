/**
 * The duplicates of resolved manifests as the files at hand have them. Manifests may name a file twice, stand in each other, or come from several machines that
 * have it at different paths; then a record is listed several times, and the original that one line names can be the duplicate itself, or the duplicate of another line.
 *
 * None comes that a line takes for an original: whatever the manifests say, one that others will lean on stays (I5). Of an original whose file is not here, which can be
 * here under another name, only URI and date tell which it is. A duplicate that is listed several times comes several times; the plan of its file takes it once.
 */
import { type Database, quoted } from './database.ts';

const FILES_AT_ONCE = 1000;
const IS_ITSELF = 'coalesce(f.mark = o.mark AND m.record_offset = m.original_offset, false)';

/** What SQL can read the duplicates of `source` from. `markOf` says the same of all names of a file, and nothing of one that is not here. */
export async function distinctDuplicates(
  database: Database,
  source: string,
  markOf: (file: string) => string | undefined,
): Promise<string> {
  await markFiles(database, source, markOf);
  const placed = `${source} AS m JOIN file_mark AS f ON f.file = m.file LEFT JOIN file_mark AS o ON o.file = m.original_file
    WHERE m.copy_number > 1 AND m.yields AND NOT ${IS_ITSELF}`;
  // Numbers alone, so that it stays small.
  await database.run(`CREATE OR REPLACE TEMP TABLE named_original AS
    SELECT DISTINCT o.mark, m.original_offset AS record_offset FROM ${placed} AND o.mark IS NOT NULL`);
  await database.run(`CREATE OR REPLACE TEMP TABLE named_unseen AS
    SELECT DISTINCT hash(m.original_uri, m.original_date) AS place FROM ${placed} AND o.mark IS NULL`);
  return `(SELECT d.* FROM (SELECT m.*, f.mark FROM ${placed}) AS d
    ANTI JOIN named_original AS n ON n.mark = d.mark AND n.record_offset = d.record_offset
    ANTI JOIN named_unseen AS u ON u.place = hash(d.uri, d.date))`;
}

/** Numbers the files that are named, one number for all names of a file. */
async function markFiles(
  database: Database,
  source: string,
  markOf: (file: string) => string | undefined,
): Promise<void> {
  await database.run('CREATE OR REPLACE TEMP TABLE file_mark (file VARCHAR, mark INTEGER)');
  const numbers = new Map<string, number>();
  const values: string[] = [];
  const named = `(SELECT file FROM ${source} UNION SELECT original_file FROM ${source} WHERE original_file IS NOT NULL)`;
  for await (const [file] of database.rows(['file'], named)) {
    const mark = markOf(file!);
    const number = mark === undefined ? null : (numbers.get(mark) ?? numbers.size);
    if (number !== null) numbers.set(mark!, number);
    values.push(`(${quoted(file!)}, ${number})`);
  }
  for (let at = 0; at < values.length; at += FILES_AT_ONCE)
    await database.run(`INSERT INTO file_mark VALUES ${values.slice(at, at + FILES_AT_ONCE).join(', ')}`);
}
