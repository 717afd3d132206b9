/**
 * Other tools read the files that Pinakes writes, with the same result: warcio and FastWARC record by record, zstandard
 * frame by frame, and the digests pass `warcio check`. A tool that is not installed is skipped. `PYTHON` names another
 * interpreter, `JWARC_JAR` the program file of jwarc.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { digestOf, formatDigest } from '../../src/base/index.ts';
import {
  type EncoderOptions,
  type NewRecord,
  readRecords,
  trainDictionary,
  WarcFileWriter,
  warcFields,
} from '../../src/warc/index.ts';

const PYTHON = process.env.PYTHON ?? 'python3';

function python(program: string, args: readonly string[]): { status: number | null; output: string; error: string } {
  const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', program, ...args], { encoding: 'utf8' });
  return { status, output: stdout ?? '', error: stderr ?? '' };
}

const absent = (module: string) =>
  python(`import ${module}`, []).status !== 0 && `the Python package ${module} is absent`;

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'pinakes-judges-'));
});
after(() => rmSync(directory, { recursive: true, force: true }));

type Draft = { readonly record: NewRecord; readonly block: Buffer };

const PAGE = Buffer.from('<html><title>A page</title><p>h\u00e9llo</p></html>\n'.repeat(20));
const ORIGINAL = {
  uri: 'http://www.example.test/a',
  date: '2024-03-01T10:00:00Z',
  id: '<urn:uuid:00000000-0000-4000-8000-000000000002>',
};

function message(startLine: string, fields: string, body = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(`${startLine}\r\n${fields}\r\n`), body]);
}

function drafts(): Draft[] {
  let serial = 0;
  const made = (type: NewRecord['type'], block: Buffer, more: Partial<NewRecord> = {}): Draft => {
    serial++;
    const recordId = `<urn:uuid:00000000-0000-4000-8000-${String(serial).padStart(12, '0')}>`;
    const targetUri = type === 'warcinfo' ? undefined : ORIGINAL.uri;
    const blockDigest = digestOf('sha1', block);
    return { record: { type, recordId, date: ORIGINAL.date, targetUri, blockDigest, ...more }, block };
  };
  const http = (type: 'request' | 'response') => `application/http; msgtype=${type}`;
  const payload = (body: Buffer) => ({ payloadDigest: digestOf('sha1', body) });
  const revisit = (profile: 'identical-payload-digest' | 'server-not-modified') => ({
    profile,
    refersTo: ORIGINAL.id,
    refersToTargetUri: ORIGINAL.uri,
    refersToDate: ORIGINAL.date,
    truncated: profile === 'identical-payload-digest',
  });
  const coded = gzipSync(PAGE);
  return [
    made('warcinfo', Buffer.from(warcFields([{ name: 'software', value: 'Pinakes' }])), {
      contentType: 'application/warc-fields',
    }),
    made(
      'response',
      message('HTTP/1.1 200 OK', `Content-Type: text/html\r\nContent-Length: ${PAGE.length}\r\n`, PAGE),
      {
        contentType: http('response'),
        ...payload(PAGE),
      },
    ),
    made('request', message('GET /a HTTP/1.1', 'Host: www.example.test\r\n'), { contentType: http('request') }),
    made('response', message('HTTP/1.1 200 OK', 'Content-Type: text/html\r\nContent-Encoding: gzip\r\n', coded), {
      contentType: http('response'),
      targetUri: 'http://www.example.test/coded?q=%C3%A9&x=1',
      ...payload(coded),
    }),
    made('revisit', message('HTTP/1.1 200 OK', 'Content-Type: text/html\r\n'), {
      contentType: http('response'),
      targetUri: 'http://www.example.test/copy',
      date: '2024-03-02T10:00:00Z',
      revisit: revisit('identical-payload-digest'),
      ...payload(PAGE),
    }),
    made('revisit', message('HTTP/1.1 304 Not Modified', 'ETag: "v1"\r\n'), {
      contentType: http('response'),
      date: '2024-03-03T10:00:00Z',
      revisit: revisit('server-not-modified'),
      ...payload(PAGE),
    }),
    made('resource', Buffer.from(Uint8Array.from({ length: 100_000 }, (_, i) => (i * i * 7) & 255)), {
      contentType: 'image/png',
      targetUri: 'urn:screenshot:http://www.example.test/a',
    }),
    made('metadata', Buffer.from('via: http://www.example.test/\r\n'), { contentType: 'application/warc-fields' }),
    made('conversion', Buffer.from('text of the page'), {
      contentType: 'text/plain',
      fields: [{ name: 'WARC-Refers-To', value: ORIGINAL.id }],
    }),
    made('resource', Buffer.alloc(0), { contentType: 'text/plain', targetUri: 'http://www.example.test/empty' }),
  ];
}

/** Writes the drafts, with every second block as a stream. */
async function write(name: string, options: EncoderOptions): Promise<string> {
  const path = join(directory, name);
  const writer = await WarcFileWriter.create(path, options);
  for (const [index, { record, block }] of drafts().entries()) {
    const pieces = async function* () {
      for (let at = 0; at < block.length; at += 30_000) yield block.subarray(at, at + 30_000);
    };
    if (index % 2 === 0) await writer.write(record, block);
    else await writer.writeStream(record, { length: block.length, pieces: pieces() });
  }
  await writer.finish();
  return path;
}

/** One line per record, as the other tools print it. */
async function ownLines(path: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const record of readRecords(path)) {
    const { head } = record;
    const block = await record.bytes(10_000_000);
    const texts = [head.type, head.targetUri, head.date, head.recordId, head.get('warc-refers-to-date')];
    lines.push([...texts.map((text) => text ?? '-'), block.length, formatDigest(digestOf('sha512', block))].join(' '));
  }
  return lines;
}

const LINE = `
import hashlib, sys
def line(get, block):
    names = ['WARC-Type', 'WARC-Target-URI', 'WARC-Date', 'WARC-Record-ID', 'WARC-Refers-To-Date']
    texts = [get(name) or '-' for name in names]
    print(' '.join(texts + [str(len(block)), 'sha512:' + hashlib.sha512(block).hexdigest()]))
`;

const WARCIO = `${LINE}
from warcio.archiveiterator import ArchiveIterator
with open(sys.argv[1], 'rb') as stream:
    for record in ArchiveIterator(stream, no_record_parse=True):
        line(record.rec_headers.get_header, record.raw_stream.read())
`;

const FASTWARC = `${LINE}
from fastwarc.warc import ArchiveIterator, WarcRecordType
with open(sys.argv[1], 'rb') as stream:
    for record in ArchiveIterator(stream, record_types=WarcRecordType.any_type, parse_http=False):
        line(record.headers.get, record.reader.read())
`;

const ZSTANDARD = `
import sys, zstandard
data = open(sys.argv[1], 'rb').read()
dictionary = None
if data[:4] == bytes.fromhex('5d2a4d18'):
    size = int.from_bytes(data[4:8], 'little')
    # The dictionary is compressed as a zstd frame, as some readers need it.
    assert data[8:12] == b'\\x28\\xb5\\x2f\\xfd', 'compressed dictionary'
    dictionary = zstandard.ZstdCompressionDict(zstandard.ZstdDecompressor().decompress(data[8:8 + size]))
    data = data[8 + size:]
while data:
    head = zstandard.get_frame_parameters(data)
    assert head.has_checksum and head.content_size > 0, 'size and checksum'
    assert head.dict_id == (dictionary.dict_id() if dictionary else 0), 'dictionary id'
    decoder = zstandard.ZstdDecompressor(dict_data=dictionary).decompressobj()
    block = decoder.decompress(data)
    assert decoder.eof and len(block) == head.content_size
    assert block.startswith(b'WARC/1.1') and block.endswith(b'\\r\\n\\r\\n'), 'one record a frame'
    sys.stdout.buffer.write(block)
    data = decoder.unused_data
`;

const GZIP_FILES: readonly [name: string, options: EncoderOptions][] = [
  ['plain.warc', { coding: 'none' }],
  ['gzip.warc.gz', { coding: 'gzip' }],
  ['stored.warc.gz', { coding: 'gzip', level: 0 }],
  ['best.warc.gz', { coding: 'gzip', level: 9 }],
];

for (const [judge, module, program] of [
  ['warcio', 'warcio', WARCIO],
  ['FastWARC', 'fastwarc', FASTWARC],
] as const) {
  test(`${judge} reads the written records unchanged`, { skip: absent(module) }, async () => {
    for (const [name, options] of GZIP_FILES) {
      const path = await write(`${judge}-${name}`, options);
      const { status, output, error } = python(program, [path]);
      assert.equal(status, 0, error);
      assert.deepEqual(output.trim().split('\n'), await ownLines(path), name);
      assert.equal(output.trim().split('\n').length, drafts().length);
    }
  });
}

test('warcio accepts all digests', { skip: absent('warcio') }, async () => {
  for (const [name, options] of GZIP_FILES) {
    const path = await write(`check-${name}`, options);
    const run = spawnSync(PYTHON, ['-m', 'warcio.cli', 'check', '-v', path], { encoding: 'utf8' });
    assert.equal(run.status, 0, `${run.stdout}${run.stderr}`);
    assert.ok(/digest pass/.test(run.stdout) && !/digest failed/.test(run.stdout), run.stdout);
  }
});

test('warcio reports a wrong digest, so its verdict is meaningful', {
  skip: absent('warcio'),
}, async () => {
  const path = join(directory, 'wrong.warc');
  const writer = await WarcFileWriter.create(path, { coding: 'none' });
  const { record } = drafts()[1]!;
  await writer.write(record, message('HTTP/1.1 200 OK', '', Buffer.from('another page')));
  await writer.finish();
  const run = spawnSync(PYTHON, ['-m', 'warcio.cli', 'check', path], { encoding: 'utf8' });
  assert.notEqual(run.status, 0);
});

test('zstandard decodes the same records frame by frame', { skip: absent('zstandard') }, async () => {
  const plain = readFileSync(await write('zstd-plain.warc', { coding: 'none' }));
  const dictionary = trainDictionary(
    Array.from({ length: 60 }, (_, i) =>
      Buffer.from(`WARC/1.1\r\nWARC-Type: response\r\nX: ${i * 7919}\r\n\r\n${PAGE}`),
    ),
    { bytesMax: 2048 },
  );
  assert.ok(dictionary);
  for (const [name, options] of [
    ['zstd.warc.zst', { coding: 'zstd' }],
    ['dictionary.warc.zst', { coding: 'zstd', dictionary }],
  ] as const) {
    const path = await write(name, options);
    const run = spawnSync(PYTHON, ['-c', ZSTANDARD, path], { maxBuffer: 10_000_000 });
    assert.equal(run.status, 0, run.stderr.toString());
    assert.ok(run.stdout.equals(plain), name);
    assert.deepEqual(await ownLines(path), await ownLines(join(directory, 'zstd-plain.warc')));
  }
});

const JWARC = process.env.JWARC_JAR;

test('jwarc lists and validates the written file', {
  skip: !JWARC && 'JWARC_JAR does not name the program',
}, async () => {
  for (const [name, options] of GZIP_FILES) {
    const path = await write(`jwarc-${name}`, options);
    const list = spawnSync('java', ['-jar', JWARC!, 'ls', path], { encoding: 'utf8' });
    assert.equal(list.status, 0, list.stderr);
    const own: string[] = [];
    for await (const { head } of readRecords(path)) own.push(`${head.offset} ${head.type} ${head.targetUri ?? '-'}`);
    const listed = list.stdout
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    assert.deepEqual(
      listed.map(([offset, type, , uri]) => `${offset} ${type} ${uri}`),
      own,
      name,
    );
    const validation = spawnSync('java', ['-jar', JWARC!, 'validate', path], { encoding: 'utf8' });
    assert.equal(validation.status, 0, `${name}: ${validation.stdout}${validation.stderr}`);
  }
});
