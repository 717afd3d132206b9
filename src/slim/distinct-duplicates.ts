/**
 * The duplicates of resolved manifests as the files at hand have them. Manifests may name a file twice, stand in each other, or come from several machines that
 * have it at different paths; then a record is listed several times, and the original that one line names can be the duplicate itself, or the duplicate of another line.
 *
 * Each record comes once, and none that a line takes for an original: whatever the manifests say, one that others will lean on stays (I5).
 */
import { type Database, quoted } from './database.ts';

const FILES_AT_ONCE = 1000;

/** What SQL can read the duplicates of `source` from. `markOf` says the same of all names of a file. */
export async function distinctDuplicates(
  database: Database,
  source: string,
  markOf: (file: string) => string,
): Promise<string> {
  await database.run('CREATE OR REPLACE TEMP TABLE file_mark (file VARCHAR, mark VARCHAR)');
  const files: string[] = [];
  const named = `(SELECT file FROM ${source} UNION SELECT original_file FROM ${source} WHERE original_file IS NOT NULL)`;
  for await (const [file] of database.rows(['file'], named)) files.push(file!);
  for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
    const values = files.slice(at, at + FILES_AT_ONCE).map((file) => `(${quoted(file)}, ${quoted(markOf(file))})`);
    await database.run(`INSERT INTO file_mark VALUES ${values.join(', ')}`);
  }
  await database.run(`CREATE OR REPLACE TEMP VIEW placed AS
    SELECT m.*, f.mark, o.mark AS original_mark FROM ${source} AS m
    JOIN file_mark AS f ON f.file = m.file LEFT JOIN file_mark AS o ON o.file = m.original_file
    WHERE copy_number > 1 AND yields AND NOT coalesce(f.mark = o.mark AND record_offset = original_offset, false)`);
  return `(SELECT d.* FROM placed AS d
    ANTI JOIN placed AS o ON o.original_mark = d.mark AND o.original_offset = d.record_offset
    QUALIFY row_number() OVER (PARTITION BY d.mark, d.record_offset ORDER BY d.original_file, d.original_offset) = 1)`;
}
