/**
 * A catalog that is being cleared. What a cleared catalog keeps is written beside the database before anything is
 * removed, and the file goes when the database has it. A process that dies in between leaves the file, and the next
 * opening removes the database and begins a new one with these rows.
 *
 * ```
 *   DROPPED     JSON: the rows to begin with, each [key, value] in Base64; empty in archives of earlier versions
 * ```
 */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile, syncDirectory } from '../../base/index.ts';

/** Rows of the counters, leases and notes. */
export type KeptRows = readonly (readonly [key: Buffer, value: Buffer])[];

const NAME = 'DROPPED';

export function isClearing(directory: string): boolean {
  return existsSync(join(directory, NAME));
}

export async function beginClearing(directory: string, kept: KeptRows): Promise<void> {
  const rows = kept.map((row) => row.map((bytes) => bytes.toString('base64')));
  await replaceFile(join(directory, NAME), JSON.stringify(rows));
}

export async function keptRows(directory: string): Promise<KeptRows> {
  const text = await readFile(join(directory, NAME), 'utf8');
  const rows = text === '' ? [] : (JSON.parse(text) as [string, string][]);
  return rows.map(([key, value]) => [Buffer.from(key, 'base64'), Buffer.from(value, 'base64')]);
}

/** Durable when it returns: a file that came back would clear the catalog again. */
export async function endClearing(directory: string): Promise<void> {
  await rm(join(directory, NAME), { force: true });
  await syncDirectory(directory);
}
