/**
 * `pinakes add` stays within its memory whatever a file contains (I9). Each file has a few megabytes that unpack to
 * hundreds.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { utf8 } from '../../src/base/index.ts';
import { MemberEncoder, recordParts } from '../../src/warc/index.ts';
import { type ForeignRecord, response, revisitOf } from './foreign-file.ts';
import { NOON, temporaryDirectory } from './trial-archive.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const PRINT_MEMORY = new URL('print-memory.ts', import.meta.url).href;
const MEMORY_BYTES_MAX = 500e6;

type Hostile = { readonly name: string; readonly count: number; readonly record: (n: number) => ForeignRecord };

const longUrl = (host: string, n: number, length: number) => `http://${host}.example/${n}/${'a'.repeat(length)}`;
const LOST = response('http://lost.example/', NOON, utf8('lost'));
const LONG_VALUE = 'b'.repeat(50_000);

const files: readonly Hostile[] = [
  {
    name: 'URLs of 30,000 letters',
    count: 6000,
    record: (n) => response(longUrl('h', n, 30_000), NOON, utf8(`${n}`)),
  },
  {
    name: 'fields of 50,000 letters',
    count: 5000,
    record: (n) => response(`http://h.example/${n}`, NOON, utf8(`${n}`), [{ name: 'X-Long', value: LONG_VALUE }]),
  },
  {
    name: 'revisits without originals, with URLs of 10,000 letters',
    count: 2000,
    record: (n) => {
      const original = { ...LOST, record: { ...LOST.record, targetUri: longUrl('o', n, 10_000) } };
      return revisitOf(original, longUrl('h', n, 10_000), NOON);
    },
  },
];

test(`adding many captures of one URL and second, whose contents the archive already has, stays below ${MEMORY_BYTES_MAX / 1e6} MB`, async (t) => {
  const directory = await temporaryDirectory(t);
  const archive = join(directory, 'archive');
  assert.equal(pinakes('init', '--archive', archive).status, 0);
  for (const name of ['first', 'second']) {
    const file = join(directory, `${name}.warc.gz`);
    const record = (n: number) => response('http://h.example/', NOON, utf8(`${n}`.padEnd(1500)));
    await pipeline(Readable.from(membersOf(1500, record)), createWriteStream(file));
    assertMemory(t, pinakes('add', '--archive', archive, file));
  }
});

for (const { name, count, record } of files) {
  test(`adding ${name} stays below ${MEMORY_BYTES_MAX / 1e6} MB`, async (t) => {
    const directory = await temporaryDirectory(t);
    const file = join(directory, 'hostile.warc.gz');
    await pipeline(Readable.from(membersOf(count, record)), createWriteStream(file));
    const archive = join(directory, 'archive');
    assert.equal(pinakes('init', '--archive', archive).status, 0);
    assertMemory(t, pinakes('add', '--archive', archive, file));
  });
}

function assertMemory(t: TestContext, { status, stderr }: ReturnType<typeof pinakes>): void {
  assert.equal(status, 0, stderr);
  const memoryBytes = Number(stderr.slice(stderr.lastIndexOf('\n')));
  t.diagnostic(`${Math.round(memoryBytes / 1e6)} MB`);
  assert.ok(memoryBytes > 0 && memoryBytes < MEMORY_BYTES_MAX, `${memoryBytes} bytes`);
}

function* membersOf(count: number, record: Hostile['record']): Generator<Uint8Array> {
  const encoder = new MemberEncoder({ coding: 'gzip' });
  try {
    for (let n = 0; n < count; n++) {
      const made = record(n);
      yield Buffer.from(encoder.encode(recordParts(made.record, made.block)));
    }
  } finally {
    encoder.close();
  }
}

function pinakes(...args: string[]): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, ['--import', PRINT_MEMORY, MAIN, ...args], {
    encoding: 'utf8',
  });
  return { status, stderr };
}
