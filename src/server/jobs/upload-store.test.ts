import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { seededIds, seededRandom } from '../../base/index.ts';
import { UploadStore } from './upload-store.ts';

const MEBIBYTE = 1024 * 1024;

test('an upload without a Content-Length is refused before it takes the disk space reserved for the archive', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-uploads-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  let sent = 0;
  const store = await UploadStore.open(
    {
      directory,
      newId: seededIds(seededRandom(1)),
      bytesMax: undefined,
      freeBytes: async () => 100 * MEBIBYTE - sent,
    },
    () => false,
  );
  async function* pieces() {
    for (let at = 0; at < 100; at++) {
      sent += MEBIBYTE;
      yield Buffer.alloc(MEBIBYTE, 'no record ');
    }
  }
  const taking = store.receive('a.warc', Readable.from(pieces()), undefined, new AbortController().signal);
  await assert.rejects(taking, { code: 'DISK_FULL' });
  assert.ok(sent < 60 * MEBIBYTE, `${sent} bytes were received`);
  assert.deepEqual(readdirSync(directory), []);
});
