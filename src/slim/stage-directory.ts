/** A place for what a stage needs only while it works: beside its result, so that it lies on a disk with room and the result needs only a new name, and gone afterwards. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileError } from '../base/index.ts';
import { Database } from './database.ts';

export async function withStageDirectory<Result>(
  out: string,
  signal: AbortSignal | undefined,
  work: (directory: string, database: Database) => Promise<Result>,
): Promise<Result> {
  const directory = directoryBeside(out);
  try {
    const database = await Database.open(directory, signal);
    try {
      return await work(directory, database);
    } finally {
      database.close();
    }
  } catch (cause) {
    throw fileError(cause, out, 'writing');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Of a name that nothing there has. */
function directoryBeside(out: string): string {
  try {
    mkdirSync(dirname(out), { recursive: true });
    return mkdtempSync(join(dirname(out), `.${basename(out)}-`));
  } catch (cause) {
    throw fileError(cause, out, 'writing');
  }
}
