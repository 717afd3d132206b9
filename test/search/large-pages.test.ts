/** The indexer keeps only the part of a large page in memory that it reads (I9). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { utf8 } from '../../src/base/index.ts';
import { makeArchive, NOON } from '../archive/trial-archive.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const PRINT_MEMORY = new URL('../archive/print-memory.ts', import.meta.url).href;
const PAGES = 3;
const PAGE_BYTES = 70 * 1024 * 1024;
/** An indexer that keeps or copies a whole page needs more memory. */
const MEMORY_BYTES_MAX = 420e6;

test(`indexing pages of 70 MiB stays below ${MEMORY_BYTES_MAX / 1e6} MB`, async (t) => {
  const archive = await makeArchive(t);
  const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\n');
  for (let n = 0; n < PAGES; n++) {
    const body = Buffer.alloc(PAGE_BYTES, `${n}${' '.repeat(1023)}`);
    await archive.store({ kind: 'http', url: `http://p${n}.test/`, time: NOON, responseHead, body });
  }
  await archive.close();
  const argv = ['--import', PRINT_MEMORY, MAIN, 'index', '--archive', archive.directory];
  const { status, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const bytes = Number(stderr.trim().split('\n').at(-1));
  t.diagnostic(`${Math.round(bytes / 1e6)} MB`);
  assert.ok(bytes < MEMORY_BYTES_MAX, `${Math.round(bytes / 1e6)} MB`);
});
