/**
 * Keeps the index from filling the disk of the archive.
 *
 * SQLite first writes a batch to the log next to the index, and a checkpoint moves it into the index. So new pages take
 * twice their size. If a checkpoint fails on a full disk, the log stays, and even the archive cannot be compacted. So:
 * - a batch continues only while there is space for both the log and the index;
 * - a checkpoint follows every batch;
 * - the log of a batch that was rolled back is truncated.
 */
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { PinakesError } from '../../base/index.ts';

const MIB = 1024 * 1024;
/** Space for the next group of entries, and for existing pages of the index that change. */
const SPARE_BYTES = 2 * MIB;

/** Fails if there is not enough space to commit the batch with one more group of entries. */
export function requireDiskSpace(database: DatabaseSync, path: string): void {
  const { bavail, blocks, bsize } = statfsSync(dirname(path));
  // Some file systems do not report free space. There a full disk shows only when a write fails.
  if (blocks === 0) return;
  const newBytes = Math.max(0, numberOf(database, 'page_count') * numberOf(database, 'page_size') - sizeOf(path));
  const unloggedBytes = Math.max(0, newBytes - sizeOf(`${path}-wal`));
  const missingBytes = newBytes + unloggedBytes + SPARE_BYTES - bavail * bsize;
  if (missingBytes <= 0) return;
  const detail = `the index needs at least ${Math.ceil(missingBytes / MIB)} MiB more of free space to grow`;
  throw new PinakesError('ARCHIVE_FULL', { where: path, detail });
}

/** Moves committed pages from the log into the index, except for pages that a reader still needs. */
export function checkpointLog(database: DatabaseSync): void {
  runCheckpoint(database, 'PASSIVE');
}

/** Truncates the log, unless a reader uses it. */
export function truncateLog(database: DatabaseSync): void {
  runCheckpoint(database, 'TRUNCATE');
}

/** A checkpoint only saves space. If it fails, or would have to wait, the next checkpoint does its work. */
function runCheckpoint(database: DatabaseSync, mode: 'PASSIVE' | 'TRUNCATE'): void {
  const timeoutMs = numberOf(database, 'busy_timeout', 'timeout');
  try {
    database.exec(`PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(${mode})`);
  } catch {
    // The next batch continues with the log as it is.
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
