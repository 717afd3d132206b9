/** A thread that lets SQLite check every page of a database. This takes as long as reading the file. */
import { DatabaseSync } from 'node:sqlite';
import { answerJobs } from '../../base/index.ts';

/** The number of faults that are reported for one file. */
const FAULTS_MAX = 20;

answerJobs<string, string[]>((path) => {
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
    const rows = database.prepare(`PRAGMA integrity_check(${FAULTS_MAX})`).all();
    return rows.map((row) => String(row.integrity_check)).filter((line) => line !== 'ok');
  } catch (error) {
    return [(error as Error).message];
  }
});
