/**
 * Reading lets other tasks run: a record or garbage that inflates a thousandfold does not block them, and can be
 * aborted.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { readRecords } from './record-reader.ts';

const BLOCK_BYTES = 100 * 1024 * 1024;

async function* bomb(block: Uint8Array): AsyncGenerator<Uint8Array> {
  const head = `WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: ${block.length}\r\n\r\n`;
  yield gzipSync(Buffer.concat([Buffer.from(head), block, Buffer.from('\r\n\r\n')]));
}

test('reading a record that inflates from very few bytes can be aborted in the middle', async () => {
  const controller = new AbortController();
  let bytes = 0;
  void setImmediate().then(() => controller.abort(new Error('given up')));
  const reading = (async () => {
    for await (const record of readRecords(bomb(Buffer.alloc(BLOCK_BYTES)), { signal: controller.signal }))
      for await (const piece of record.body()) bytes += piece.length;
  })();
  await assert.rejects(reading, /given up/);
  assert.ok(bytes > 0 && bytes < BLOCK_BYTES, String(bytes));
});

for (const [name, byte] of [
  ['garbage', 'x'],
  ['line ends', '\n'],
] as const)
  test(`skipping ${name} that inflates from very few bytes can be aborted in the middle`, async () => {
    async function* file(): AsyncGenerator<Uint8Array> {
      yield gzipSync(Buffer.alloc(BLOCK_BYTES, byte));
    }
    const controller = new AbortController();
    void setImmediate().then(() => controller.abort(new Error('given up')));
    await assert.rejects(async () => {
      for await (const _ of readRecords(file(), { signal: controller.signal }));
    }, /given up/);
  });
