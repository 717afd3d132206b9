/**
 * The room that the index takes on the disk of the archive.
 *
 * A batch is first written to the log beside the index, and from there to the index: what is new takes its size twice.
 * A log that cannot be carried over keeps the disk full, and the archive could not be made smaller. So a batch goes on
 * only while there is room for both, a log is carried over after every batch, and the log of a batch that is taken back
 * is emptied.
 */
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { PinakesError } from '../../base/index.ts';

const MIB = 1024 * 1024;
/** For the next group of entries, and for pages of the index that change and are not new. */
const SPARE_BYTES = 2 * MIB;

/** Fails when the batch could not become part of the index with another group of entries in it. */
export function requireDiskSpace(database: DatabaseSync, path: string): void {
  const { bavail, blocks, bsize } = statfsSync(dirname(path));
  // Not every file system says how much is free; there it shows when something is written.
  if (blocks === 0) return;
  const newBytes = Math.max(0, numberOf(database, 'page_count') * numberOf(database, 'page_size') - sizeOf(path));
  const unloggedBytes = Math.max(0, newBytes - sizeOf(`${path}-wal`));
  const missingBytes = newBytes + unloggedBytes + SPARE_BYTES - bavail * bsize;
  if (missingBytes <= 0) return;
  const detail = `the index has to grow, for which at least ${Math.ceil(missingBytes / MIB)} MiB more have to be free`;
  throw new PinakesError('ARCHIVE_FULL', { where: path, detail });
}

/** Carries over to the index what is whole in the log, as far as no reader needs it as it is. */
export function carryOver(database: DatabaseSync): void {
  checkpoint(database, 'PASSIVE');
}

/** Gives back the room of the log, unless readers are at work with it. */
export function emptyLog(database: DatabaseSync): void {
  checkpoint(database, 'TRUNCATE');
}

/** It is for room alone: what fails, or would have to wait, is left to the next time. */
function checkpoint(database: DatabaseSync, mode: 'PASSIVE' | 'TRUNCATE'): void {
  const timeoutMs = numberOf(database, 'busy_timeout', 'timeout');
  try {
    database.exec(`PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(${mode})`);
  } catch {
    // The next batch begins with the log as it is.
  } finally {
    database.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
  }
}

function numberOf(database: DatabaseSync, pragma: string, column = pragma): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()![column]);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
