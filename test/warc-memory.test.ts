/**
 * A record of any size is read in memory of a fixed size (I9). The input is generated while it is read, without a file.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { BlockScanner, type Coding, RecordCursor } from '../src/warc/index.ts';

const MIB = 1024 * 1024;
/** `PINAKES_LARGE=1` makes it three gigabytes. */
const BLOCK_BYTES = process.env.PINAKES_LARGE ? 3 * 1024 * MIB : 300 * MIB;
const GROWTH_BYTES_MAX = 100 * MIB;
const CHUNK = Buffer.alloc(MIB, 'a piece of a very large block, again and again; ');

const HEAD = Buffer.from(
  [
    'WARC/1.1',
    'WARC-Type: response',
    'WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>',
    'WARC-Date: 2024-03-01T10:00:00Z',
    'WARC-Target-URI: http://example.test/large',
    'Content-Type: application/http; msgtype=response',
    `Content-Length: ${BLOCK_BYTES}`,
    '',
    '',
  ].join('\r\n'),
);
const HTTP_HEAD = Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n');
const TRAILER = Buffer.from('\r\n\r\n');

/** Head, block and trailer of a record, in pieces. */
function* recordPieces(): Generator<Buffer> {
  yield HEAD;
  yield HTTP_HEAD;
  let left = BLOCK_BYTES - HTTP_HEAD.length;
  while (left > 0) {
    const bytes = Math.min(left, CHUNK.length);
    yield CHUNK.subarray(0, bytes);
    left -= bytes;
  }
  yield TRAILER;
}

/** One gzip member. Every piece becomes deflate blocks that end on a byte, so equal pieces give equal blocks. */
function* gzipPieces(level: number): Generator<Buffer> {
  yield Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  const coded = new Map<Buffer, Buffer>();
  let crc = 0;
  let size = 0;
  for (const piece of recordPieces()) {
    crc = crc32(piece, crc);
    size += piece.length;
    const isWhole = piece.length === CHUNK.length;
    const made = (isWhole && coded.get(CHUNK)) || deflateRawSync(piece, { level, finishFlush: constants.Z_FULL_FLUSH });
    if (isWhole) coded.set(CHUNK, made);
    yield made;
  }
  const end = Buffer.alloc(8);
  end.writeUInt32LE(crc, 0);
  end.writeUInt32LE(size % 2 ** 32, 4);
  yield deflateRawSync('');
  yield end;
}

function pass(coding: Coding, pieces: Generator<Buffer>): { blockBytes: number; growth: number } {
  const cursor = new RecordCursor('large', { coding });
  let scanner: BlockScanner | undefined;
  let piece = Buffer.alloc(0);
  let blockBytes = 0;
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (let steps = 0; ; steps++) {
    if (steps % 256 === 0) {
      const { rss } = process.memoryUsage();
      least = Math.min(least, rss);
      most = Math.max(most, rss);
    }
    const step = cursor.step();
    if (step === 'need-input') {
      if (piece.length === 0) piece = pieces.next().value ?? Buffer.alloc(0);
      const room = cursor.reserve();
      const taken = piece.copy(room);
      piece = piece.subarray(taken);
      if (taken === 0) cursor.end();
      else cursor.commit(taken);
    } else if (step === 'record') scanner = new BlockScanner(cursor.head, { payload: ['sha1'] });
    else if (step === 'body') scanner!.push(cursor.chunk);
    else if (step === 'finding') assert.fail(cursor.finding.message);
    else if (step === 'end') {
      assert.ok(cursor.tail.isComplete);
      blockBytes = scanner!.end().blockBytes;
    } else if (step === 'done') {
      cursor.close();
      return { blockBytes, growth: most - least };
    }
  }
}

for (const [name, coding, pieces] of [
  ['uncompressed', 'none', recordPieces],
  ['gzip stored', 'gzip', () => gzipPieces(0)],
  ['gzip compressed a hundredfold', 'gzip', () => gzipPieces(6)],
] as const) {
  test(`a record of ${BLOCK_BYTES / MIB} MiB passes in bounded memory: ${name}`, (context) => {
    const { blockBytes, growth } = pass(coding, pieces());
    context.diagnostic(`grew by ${Math.round(growth / MIB)} MiB`);
    assert.equal(blockBytes, BLOCK_BYTES);
    assert.ok(growth < GROWTH_BYTES_MAX, `memory grew by ${growth} bytes`);
  });
}

test('a file that consists of empty members is read in bounded memory', (context) => {
  const empty = Buffer.from('1f8b08000000000000030300000000000000000000'.slice(0, 40), 'hex');
  const many = Buffer.concat(Array.from({ length: 50_000 }, () => empty));
  function* pieces(): Generator<Buffer> {
    for (let i = 0; i < 40; i++) yield many;
  }
  const { growth } = pass('gzip', pieces());
  context.diagnostic(`grew by ${Math.round(growth / MIB)} MiB`);
  assert.ok(growth < GROWTH_BYTES_MAX, `memory grew by ${growth} bytes`);
});
