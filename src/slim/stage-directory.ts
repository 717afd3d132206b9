/** A place for what a stage needs only while it works: beside its result, so that it lies on a disk with room, and gone afterwards. */
import { mkdirSync, rmSync } from 'node:fs';
import { fileError } from '../base/index.ts';
import { Database } from './database.ts';

export async function withStageDirectory<Result>(
  out: string,
  work: (directory: string, database: Database) => Promise<Result>,
): Promise<Result> {
  const directory = `${out}.work`;
  try {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
  } catch (cause) {
    throw fileError(cause, directory, 'writing');
  }
  const database = await Database.open(directory);
  try {
    return await work(directory, database);
  } finally {
    database.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
