import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { PinakesError } from '../../base/index.ts';
import { readRecords } from '../read/record-reader.ts';
import type { NewRecord } from '../record/new-record.ts';
import { WarcFileWriter } from './warc-file-writer.ts';

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'pinakes-writer-'));
});
after(() => rmSync(directory, { recursive: true, force: true }));

const record = (number: number): NewRecord => ({
  type: 'resource',
  recordId: `<urn:uuid:${number}>`,
  date: '2024-03-01T10:00:00Z',
  targetUri: `http://example.test/${number}`,
});

const isCode = (code: string) => (error: unknown) => (error as PinakesError).code === code;

test('a file gets its final name when it is complete', async () => {
  const path = join(directory, 'whole.warc.gz');
  const writer = await WarcFileWriter.create(path, { coding: 'gzip' });
  const first = await writer.write(record(1), Buffer.from('one'));
  const second = await writer.write(record(2), Buffer.from('two'));
  assert.deepEqual([first.offset, second.offset], [0, first.length]);
  await writer.sync();
  assert.equal(readFileSync(path).length, 0);
  assert.equal(readFileSync(writer.temporaryPath).length, first.length + second.length);
  await writer.finish();
  assert.equal(existsSync(writer.temporaryPath), false);
  const bodies: string[] = [];
  for await (const found of readRecords(path)) bodies.push(Buffer.from(await found.bytes(100)).toString());
  assert.deepEqual(bodies, ['one', 'two']);
});

test('an existing file is not changed without force', async () => {
  const path = join(directory, 'exists.warc');
  writeFileSync(path, 'precious');
  await assert.rejects(WarcFileWriter.create(path, { coding: 'none' }), isCode('FILE_EXISTS'));
  assert.equal(readFileSync(path, 'utf8'), 'precious');
  assert.equal(existsSync(`${path}.tmp`), false);
  const writer = await WarcFileWriter.create(path, { coding: 'none', force: true });
  await writer.write(record(1), Buffer.from('new'));
  await writer.sync();
  assert.equal(readFileSync(path, 'utf8'), 'precious');
  await writer.discard({ force: true });
  assert.equal(readFileSync(path, 'utf8'), 'precious');
});

test('a discarded file leaves nothing behind', async () => {
  const path = join(directory, 'discarded', 'file.warc');
  mkdirSync(join(directory, 'discarded'));
  const writer = await WarcFileWriter.create(path, { coding: 'zstd' });
  await writer.write(record(1), Buffer.alloc(3_000_000, 'x'));
  await writer.discard();
  assert.deepEqual(readdirSync(join(directory, 'discarded')), []);
});

test('a finished file cannot be discarded', async () => {
  const path = join(directory, 'finished.warc');
  const writer = await WarcFileWriter.create(path, { coding: 'none' });
  await writer.write(record(1), Buffer.from('kept'));
  await writer.finish();
  await writer.discard();
  assert.ok(readFileSync(path, 'utf8').includes('kept'));
});

test('a file that cannot be created gives an error with a code and leaves nothing behind', async () => {
  const path = join(directory, 'missing', 'file.warc');
  await assert.rejects(WarcFileWriter.create(path, { coding: 'none' }), isCode('FILE_MISSING'));
  const blocked = join(directory, 'blocked.warc');
  mkdirSync(`${blocked}.tmp`);
  await assert.rejects(WarcFileWriter.create(blocked, { coding: 'none' }), isCode('FILE_IS_DIRECTORY'));
  assert.equal(existsSync(blocked), false);
});

test('a streamed block is written unchanged although its pieces share one buffer', async () => {
  for (const coding of ['none', 'gzip', 'zstd'] as const) {
    const path = join(directory, `streamed.${coding}`);
    const writer = await WarcFileWriter.create(path, { coding });
    async function* pieces(): AsyncGenerator<Uint8Array> {
      const shared = Buffer.alloc(1000);
      for (let i = 0; i < 50; i++) yield shared.fill(97 + (i % 26));
    }
    const first = await writer.writeStream(record(1), { length: 50_000, pieces: pieces() });
    const second = await writer.write(record(2), Buffer.from('after'));
    assert.equal(second.offset, first.offset + first.length);
    await writer.finish();
    const blocks: Buffer[] = [];
    for await (const found of readRecords(path)) blocks.push(Buffer.from(await found.bytes(100_000)));
    const expected = Array.from({ length: 50 }, (_, i) => String.fromCharCode(97 + (i % 26)).repeat(1000)).join('');
    assert.equal(blocks[0]!.toString(), expected, coding);
    assert.equal(blocks[1]!.toString(), 'after');
  }
});

test('a streamed block of another length than declared is a bug of the caller', async () => {
  const writer = await WarcFileWriter.create(join(directory, 'lied.warc'), { coding: 'none' });
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('abc');
  }
  await assert.rejects(writer.writeStream(record(1), { length: 4, pieces: pieces() }), /bug in Pinakes/);
  await writer.discard();
});

test('members of another file are copied byte for byte', async () => {
  const source = join(directory, 'source.warc.gz');
  const writer = await WarcFileWriter.create(source, { coding: 'gzip' });
  const { length } = await writer.write(record(1), Buffer.from('copied'));
  await writer.finish();
  const copy = await WarcFileWriter.create(join(directory, 'copy.warc.gz'), { coding: 'gzip' });
  const member = Buffer.from(readFileSync(source));
  assert.deepEqual(await copy.writeMember(member), { offset: 0, length });
  member.fill(0);
  await copy.finish();
  assert.deepEqual(readFileSync(copy.path), readFileSync(source));
});
