import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { indexError } from './database.ts';

function failureOf(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return indexError(error);
  }
  throw new Error('it did not fail');
}

const codeOf = (error: unknown) => (error as { code?: unknown }).code;

test('a full disk, a locked file and a damaged file are operating failures; a wrong statement is a bug', () => {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE t (a); PRAGMA max_page_count = 10');
  const fill = () => database.exec('INSERT INTO t VALUES (hex(zeroblob(100000)))');
  assert.equal(codeOf(failureOf(fill)), 'DISK_FULL');
  assert.equal(codeOf(failureOf(() => database.exec('SELECT nothing FROM t'))), 'ERR_SQLITE_ERROR');
  const sqlite = (errcode: number) => Object.assign(new Error('said'), { code: 'ERR_SQLITE_ERROR', errcode });
  for (const [errcode, code] of [
    [5, 'FILE_BUSY'],
    [11, 'INDEX_DAMAGED'],
    [26, 'INDEX_DAMAGED'],
    [522, 'INDEX_DAMAGED'],
    [778, 'DEVICE_FAILED'],
    [13, 'DISK_FULL'],
  ] as const)
    assert.equal(codeOf(indexError(sqlite(errcode))), code, String(errcode));
  database.close();
});
