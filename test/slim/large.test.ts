/**
 * Sizes that break programs: a record over 2 GB, a file over 4 GB, very many files. Slim runs in a child process, so
 * that its memory can be measured. `PINAKES_LARGE=1` uses the full sizes. Without it the sizes are smaller, with the
 * same memory limit.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { digestOf, utf8 } from '../../src/base/index.ts';
import type { RunSummary } from '../../src/slim/index.ts';
import { fieldsOf, headBytes, MemberEncoder, RECORD_TRAILER, WarcFileWriter } from '../../src/warc/index.ts';

const MEMORY_BYTES_MAX = 700e6;
const isLarge = Boolean(process.env.PINAKES_LARGE);
const RECORD_BYTES = isLarge ? 2 ** 31 + 2 ** 20 : 2 ** 28;
const HOLE_BYTES = isLarge ? 2 ** 32 + 2 ** 20 : 2 ** 28;
const FILES = isLarge ? 100_000 : 1500;

type Measured = { readonly summary: RunSummary; readonly memoryBytes: number };

function slim(directory: string): Measured {
  const child = join(import.meta.dirname, 'measuring-child.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [child, directory], { maxBuffer: 1e9 });
  assert.equal(status, 0, String(stderr));
  return JSON.parse(String(stdout)) as Measured;
}

function inDirectory(body: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-large-'));
  return body(directory).finally(() => rmSync(directory, { recursive: true }));
}

function response(
  targetUri: string,
  number: number,
): { type: 'response'; recordId: string; date: string; targetUri: string; contentType: string } {
  const date = new Date(Date.UTC(2024, 0, 1) + number * 1000).toISOString();
  return {
    type: 'response',
    recordId: `<urn:x:${number}>`,
    date,
    targetUri,
    contentType: 'application/http; msgtype=response',
  };
}

const HTTP = utf8('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n');

async function* bodyPieces(bytes: number): AsyncGenerator<Uint8Array> {
  yield HTTP;
  const piece = Buffer.alloc(2 ** 20, 'a very long film, ');
  for (let left = bytes; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length));
}

test(`records of ${RECORD_BYTES} bytes are compared and replaced within bounded memory`, async (t) => {
  await inDirectory(async (directory) => {
    const writer = await WarcFileWriter.create(join(directory, 'films.warc.gz'), { coding: 'gzip', level: 1 });
    for (const number of [1, 2]) {
      const block = { length: HTTP.length + RECORD_BYTES, pieces: bodyPieces(RECORD_BYTES) };
      await writer.writeStream(response(`http://films.test/${number}`, number), block);
    }
    await writer.finish();
    const { summary, memoryBytes } = slim(directory);
    t.diagnostic(`${Math.round(memoryBytes / 1e6)} MB of memory`);
    assert.equal(summary.revisits, 1);
    assert.equal(summary.payloadBytesSaved, RECORD_BYTES);
    assert.ok(memoryBytes < MEMORY_BYTES_MAX, String(memoryBytes));
  });
});

test(`duplicates on both sides of a hole of ${HOLE_BYTES} bytes are found and replaced`, async (t) => {
  await inDirectory(async (directory) => {
    const path = join(directory, 'hole.warc');
    const encoder = new MemberEncoder({ coding: 'none' });
    const descriptor = openSync(path, 'w');
    let at = 0;
    const write = (bytes: Uint8Array) => {
      at += writeSync(descriptor, bytes, 0, bytes.length, at);
    };
    const page = Buffer.concat([HTTP, Buffer.alloc(50_000, 'page ')]);
    const put = (number: number) => {
      const record = {
        ...response(`http://a.test/${number}`, number),
        payloadDigest: digestOf('sha1', page.subarray(HTTP.length)),
      };
      write(encoder.encode([headBytes(fieldsOf(record, page.length)), page, RECORD_TRAILER]));
    };
    put(1);
    put(2);
    // A resource of zeros that is a hole in the file, so that the file system does not store it.
    const hole = {
      type: 'resource',
      recordId: '<urn:x:hole>',
      date: '2024-01-01T00:00:00Z',
      targetUri: 'http://a.test/hole',
    } as const;
    write(headBytes(fieldsOf(hole, HOLE_BYTES)));
    at += HOLE_BYTES;
    ftruncateSync(descriptor, at);
    write(RECORD_TRAILER);
    put(3);
    closeSync(descriptor);
    const { summary, memoryBytes } = slim(directory);
    t.diagnostic(`${Math.round(memoryBytes / 1e6)} MB of memory`);
    assert.equal(summary.revisits, 2);
    assert.equal(statSync(path).size, summary.bytesAfter);
    assert.ok(summary.bytesBefore - summary.bytesAfter > 95_000);
    assert.ok(memoryBytes < MEMORY_BYTES_MAX, String(memoryBytes));
  });
});

test(`${FILES} files are one collection`, async (t) => {
  await inDirectory(async (directory) => {
    const encoder = new MemberEncoder({ coding: 'gzip' });
    for (let number = 0; number < FILES; number++) {
      const folder = join(directory, String(number % 100));
      if (number < 100) mkdirSync(folder);
      const page = Buffer.concat([HTTP, Buffer.from(`${'content '.repeat(400)}${randomText(number % 1000)}`)]);
      const record = response(`http://a.test/${number}`, number);
      const descriptor = openSync(join(folder, `${number}.warc.gz`), 'w');
      writeSync(descriptor, encoder.encode([headBytes(fieldsOf(record, page.length)), page, RECORD_TRAILER]));
      closeSync(descriptor);
    }
    const { summary, memoryBytes } = slim(directory);
    t.diagnostic(`${Math.round(memoryBytes / 1e6)} MB of memory`);
    assert.equal(summary.files, FILES);
    assert.equal(summary.duplicates, FILES - 1000);
    assert.ok(summary.revisits > 0);
    assert.ok(memoryBytes < MEMORY_BYTES_MAX, String(memoryBytes));
  });
});

function randomText(number: number): string {
  let text = '';
  for (let i = 0; i < 40; i++) text += Buffer.from(digestOf('sha256', utf8(`${number} ${i}`)).bytes).toString('base64');
  return text;
}
