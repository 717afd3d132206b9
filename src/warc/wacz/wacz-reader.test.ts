import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { crc32, deflateRawSync, gzipSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { type Finding, seededRandom, utf8 } from '../../base/index.ts';
import { decodePrefix, inflateRawHandle } from '../member/codec-handle.ts';
import { exactRange } from './cdx-search.ts';
import { openWacz, Wacz } from './wacz-reader.ts';
import { MemoryByteSource } from './wacz-source.ts';

type Member = {
  name: string;
  content: Uint8Array | string;
  deflate?: boolean;
  /** False values for the directory. */
  lies?: Partial<{
    bytes: number;
    compressed: number;
    crc32: number;
    offset: number;
    method: number;
    flags: number;
    localName: string;
  }>;
  /** Leaves the sizes of the local header empty and writes a descriptor after the bytes. */
  descriptor?: boolean;
};

/** A ZIP file made by hand, because no library writes broken ones. */
function zipOf(members: readonly Member[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let position = 0;
  for (const { name, content, deflate, lies = {}, descriptor } of members) {
    const plain = Buffer.from(content as Uint8Array);
    const packed = deflate ? deflateRawSync(plain) : plain;
    const checksum = lies.crc32 ?? crc32(plain);
    const flags = (lies.flags ?? 0) | (descriptor ? 8 : 0);
    const method = lies.method ?? (deflate ? 8 : 0);
    const localName = Buffer.from(lies.localName ?? name);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(20, 4);
    local.writeUInt16LE(flags, 6);
    local.writeUInt16LE(method, 8);
    if (!descriptor) {
      local.writeUInt32LE(checksum, 14);
      local.writeUInt32LE(packed.length, 18);
      local.writeUInt32LE(plain.length, 22);
    }
    local.writeUInt16LE(localName.length, 26);
    const trailer = Buffer.alloc(descriptor ? 16 : 0);
    if (descriptor) {
      trailer.writeUInt32LE(0x08074b50, 0);
      trailer.writeUInt32LE(checksum, 4);
      trailer.writeUInt32LE(packed.length, 8);
      trailer.writeUInt32LE(plain.length, 12);
    }
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(20, 4);
    central.writeUInt16LE(20, 6);
    central.writeUInt16LE(flags, 8);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(checksum, 16);
    central.writeUInt32LE(lies.compressed ?? packed.length, 20);
    central.writeUInt32LE(lies.bytes ?? plain.length, 24);
    central.writeUInt16LE(Buffer.byteLength(name), 28);
    central.writeUInt32LE(lies.offset ?? position, 42);
    directory.push(central, Buffer.from(name));
    parts.push(local, localName, packed, trailer);
    position += local.length + localName.length + packed.length + trailer.length;
  }
  const directoryBytes = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(directoryBytes.length, 12);
  end.writeUInt32LE(position, 16);
  return Buffer.concat([...parts, directoryBytes, end]);
}

async function opened(bytes: Uint8Array) {
  const findings: Finding[] = [];
  const onFinding = (finding: Finding) => void findings.push(finding);
  const wacz = await Wacz.open(new MemoryByteSource('test.wacz', bytes), { onFinding });
  return { wacz, findings, codes: () => findings.map(({ code }) => code) };
}

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

const text = async (chunks: AsyncIterable<Uint8Array>) => Buffer.concat(await collect(chunks)).toString();

const CDXJ = [
  'test,example)/a 20240301100000 {"url": "http://www.example.test/a", "length": "4", "offset": "0", "filename": "data.warc.gz"}',
  'test,example)/b 20240301100000 {"url": "http://www.example.test/b", "length": "4", "offset": "4", "filename": "data.warc.gz"}',
];
const DATAPACKAGE = JSON.stringify({ profile: 'data-package', wacz_version: '1.1.1', title: 'A title', resources: [] });
const PAGES =
  '{"format": "json-pages-1.0", "id": "pages"}\n{"url": "http://www.example.test/a", "ts": "2024-03-01T10:00:00Z"}\nnonsense\n';

const PACKAGE: readonly Member[] = [
  { name: 'archive/data.warc.gz', content: 'WARC of eight' },
  { name: 'indexes/index.cdxj', content: `${CDXJ.join('\n')}\n`, deflate: true },
  { name: 'pages/pages.jsonl', content: PAGES, deflate: true },
  { name: 'datapackage.json', content: DATAPACKAGE, deflate: true },
];

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pinakes-wacz-'));
});
after(() => rm(directory, { recursive: true }));

test('the WARC files of a package are returned as ranges of its file', async () => {
  const bytes = zipOf(PACKAGE);
  const path = join(directory, 'plain.wacz');
  await writeFile(path, bytes);
  const wacz = await openWacz(path, { onFinding: (finding) => assert.fail(finding.message) });
  const [warc, ...others] = await collect(wacz.warcs());
  assert.equal(others.length, 0);
  assert.deepEqual([warc!.name, warc!.file, warc!.length, warc!.isStored], ['archive/data.warc.gz', path, 13, true]);
  assert.equal(bytes.toString('latin1', warc!.offset, warc!.offset + warc!.length), 'WARC of eight');
  assert.equal(wacz.package?.title, 'A title');
  await wacz.close();
});

test('pages and index entries are read, and a bad page is reported', async () => {
  const { wacz, codes } = await opened(zipOf(PACKAGE));
  assert.deepEqual(
    (await collect(wacz.pages())).map(({ url }) => url),
    ['http://www.example.test/a'],
  );
  assert.deepEqual(codes(), ['wacz-page-invalid']);
  assert.equal((await collect(wacz.index())).length, 2);
  assert.deepEqual(
    (await collect(wacz.search(exactRange('test,example)/b')))).map(({ offset }) => offset),
    [4],
  );
});

test('a compressed index is searched by its secondary index, or directly when the secondary index is missing', async () => {
  const block = gzipSync(`${CDXJ.join('\n')}\n`);
  const secondary = `!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\ntest,example)/a 20240301100000 {"offset": 0, "length": ${block.length}}\n`;
  const data = { name: 'indexes/index.cdx.gz', content: block };
  for (const members of [
    [data, { name: 'indexes/index.idx', content: secondary, deflate: true }],
    [data],
    [{ ...data, deflate: true }],
  ]) {
    const { wacz } = await opened(zipOf(members));
    assert.equal((await collect(wacz.search(exactRange('test,example)/b')))).length, 1);
  }
});

test('a deflated WARC file is returned as a stream, with a finding', async () => {
  const { wacz, codes } = await opened(zipOf([{ name: 'archive/data.warc', content: 'WARC/1.0', deflate: true }]));
  const [warc] = await collect(wacz.warcs());
  assert.equal(warc!.isStored, false);
  assert.equal(warc!.length, 8);
  assert.equal(await text(warc!.open()), 'WARC/1.0');
  assert.deepEqual(codes(), ['wacz-not-stored']);
});

test('the bytes before the damage of a deflated entry are returned', async () => {
  const random = seededRandom(1);
  const content = Buffer.from(Array.from({ length: 600_000 }, () => 48 + Math.floor(random() * 16)));
  const packed = deflateRawSync(content);
  const at = Math.floor(packed.length / 2);
  const bytes = zipOf([{ name: 'archive/data.warc', content, deflate: true }]);
  const start = bytes.indexOf(packed.subarray(0, 64));
  const wounds = Array.from({ length: 64 }, (_, n) => at + 8 * n);
  // Many changes leave the data decodable, to other bytes.
  const isBroken = (wound: number) => {
    bytes.fill(0xff, start + wound, start + wound + 8);
    try {
      inflateRawSync(bytes.subarray(start, start + packed.length));
      return false;
    } catch {
      return true;
    }
  };
  assert.ok(wounds.some(isBroken));
  const expected: Buffer[] = [];
  decodePrefix(inflateRawHandle, bytes, start, start + packed.length, 0, (piece) => expected.push(Buffer.from(piece)));
  const { wacz, codes } = await opened(bytes);
  const [warc] = await collect(wacz.warcs());
  const given = Buffer.concat(await collect(warc!.open()));
  assert.ok(given.subarray(0, 200_000).equals(content.subarray(0, 200_000)));
  // The last byte is not compared, because the engine can write it in the call that fails.
  const readable = Buffer.concat(expected);
  assert.ok(given.length >= readable.length - 1, `${given.length} of ${readable.length} bytes`);
  assert.ok(given.equals(readable.subarray(0, given.length)));
  assert.ok(codes().includes('wacz-entry-damaged'));
});

test('the WARC files of packages in a package have offsets of the outer file', async () => {
  const inner = zipOf([{ name: 'archive/in.warc', content: 'inner bytes' }]);
  const outer = zipOf([
    { name: 'first.wacz', content: inner },
    { name: 'second.wacz', content: zipOf([{ name: 'third.wacz', content: inner }]) },
    { name: 'broken.wacz', content: 'no package' },
    { name: 'deflated.wacz', content: inner, deflate: true },
  ]);
  const { wacz, codes } = await opened(outer);
  const warcs = await collect(wacz.warcs());
  assert.deepEqual(
    warcs.map(({ packages }) => packages),
    [['first.wacz'], ['second.wacz', 'third.wacz']],
  );
  for (const { offset, length } of warcs)
    assert.equal(outer.toString('latin1', offset, offset + length), 'inner bytes');
  assert.deepEqual(codes(), ['wacz-directory-broken', 'wacz-nested-deflated']);
});

test('packages that are nested too deep are not opened', async () => {
  let bytes = zipOf([{ name: 'archive/in.warc', content: 'x' }]);
  for (let depth = 0; depth < 8; depth++) bytes = zipOf([{ name: 'inner.wacz', content: bytes }]);
  const { wacz, codes } = await opened(bytes);
  assert.deepEqual(await collect(wacz.warcs()), []);
  assert.deepEqual(codes(), ['wacz-nested-deep']);
});

test('names that lead out of the package are reported and never become paths', async () => {
  const names = ['../../etc/passwd', '/etc/passwd', 'C:\\windows\\x', 'archive\\..\\..\\x.warc'];
  const { wacz, codes } = await opened(zipOf(names.map((name) => ({ name, content: 'x' }))));
  assert.deepEqual(
    codes(),
    names.map(() => 'wacz-entry-name'),
  );
  assert.equal(wacz.entries.length, names.length);
});

test('entries that overlap, as bombs do, are reported, and no byte is read as part of two entries', async () => {
  const { wacz, codes } = await opened(
    zipOf([
      { name: 'archive/a.warc', content: 'a'.repeat(74) },
      { name: 'archive/b.warc', content: 'b', lies: { offset: 0, compressed: 50, bytes: 50 } },
      { name: 'archive/c.warc', content: 'first', lies: { compressed: 5000, bytes: 5000 } },
      { name: 'archive/d.warc', content: 'second' },
      { name: 'archive/e.warc', content: 'third' },
    ]),
  );
  assert.deepEqual(codes(), ['wacz-entry-overlap', 'wacz-entry-cut', 'wacz-entry-overlap']);
  const read: string[] = [];
  for (const entry of wacz.entries) read.push(`${entry.name} ${await text(wacz.read(entry))}`);
  assert.deepEqual(read, [
    `archive/a.warc ${'a'.repeat(74)}`,
    'archive/c.warc first',
    'archive/d.warc second',
    'archive/e.warc third',
  ]);
});

test('a package whose entries all share the same bytes unpacks to a single entry', async () => {
  const block = Buffer.alloc(100_000);
  const names = Array.from({ length: 40 }, (_, index) => `archive/${index}.warc`);
  const first = { name: names[0]!, content: block, deflate: true };
  const { wacz, codes } = await opened(
    zipOf([first, ...names.slice(1).map((name) => ({ ...first, name, lies: { offset: 0 } }))]),
  );
  assert.deepEqual(
    wacz.entries.map(({ name }) => name),
    [names[0]],
  );
  assert.deepEqual(
    codes(),
    names.slice(1).map(() => 'wacz-entry-overlap'),
  );
  assert.equal((await text(wacz.read(wacz.entries[0]!))).length, block.length);
});

test('wrong sizes and checksums stop reading at the declared size', async () => {
  const { wacz, codes } = await opened(
    zipOf([
      { name: 'archive/bomb.warc', content: Buffer.alloc(50 * 1024 * 1024), deflate: true, lies: { bytes: 1000 } },
      { name: 'archive/short.warc', content: 'short', deflate: true, lies: { bytes: 1000 } },
      { name: 'archive/crc.warc', content: 'content', lies: { crc32: 1 } },
      { name: 'archive/stored.warc', content: 'content', lies: { bytes: 3 } },
      { name: 'archive/other.warc', content: 'content', lies: { localName: 'archive/hidden.warc' } },
    ]),
  );
  const lengths: number[] = [];
  for (const entry of wacz.entries) lengths.push((await text(wacz.read(entry))).length);
  assert.deepEqual(lengths, [1000, 5, 7, 7, 7]);
  assert.deepEqual(codes(), [
    'wacz-entry-size',
    'wacz-entry-size',
    'wacz-entry-size',
    'wacz-entry-checksum',
    'wacz-entry-header',
  ]);
});

test('an entry that the directory places wrongly is found by its local header', async () => {
  for (const offset of [1, 40, 0x7fffffff]) {
    const { wacz, codes } = await opened(
      zipOf([
        { name: 'archive/a.warc', content: 'first' },
        { name: 'archive/b.warc', content: 'second', lies: { offset } },
        { name: 'archive/c.warc', content: 'third' },
      ]),
    );
    assert.deepEqual(codes(), [offset > 1000 ? 'wacz-entry-outside' : 'wacz-entry-header']);
    const read: string[] = [];
    for (const entry of wacz.entries) read.push(`${entry.name} ${await text(wacz.read(entry))}`);
    assert.deepEqual(read, ['archive/a.warc first', 'archive/b.warc second', 'archive/c.warc third']);
  }
});

test('encrypted entries, unknown methods and entries outside the file are reported, and readable entries stay listed', async () => {
  const { wacz, codes } = await opened(
    zipOf([
      { name: 'archive/a.warc', content: 'x', lies: { flags: 1 } },
      { name: 'archive/b.warc', content: 'x', lies: { method: 99 } },
      { name: 'archive/c.warc', content: 'x', lies: { offset: 0x7fffffff } },
      { name: 'archive/d.warc', content: 'x', lies: { compressed: 0x7fffffff, bytes: 0x7fffffff } },
    ]),
  );
  assert.deepEqual(codes(), ['wacz-entry-outside', 'wacz-entry-encrypted', 'wacz-entry-method', 'wacz-entry-cut']);
  const warcs = await collect(wacz.warcs());
  assert.deepEqual(
    warcs.map(({ name }) => name),
    ['archive/c.warc', 'archive/d.warc'],
  );
  assert.ok(warcs[1]!.offset + warcs[1]!.length <= wacz.source.size);
});

test('a package cut off anywhere gives the entries that it still contains, or fails with NOT_WACZ', async () => {
  for (const descriptor of [false, true]) {
    const bytes = zipOf([
      { name: 'archive/a.warc', content: `WARC/1.0 ${'PK\x07\x08'.repeat(9)}`, descriptor },
      { name: 'archive/empty.warc', content: '', deflate: true, descriptor },
      { name: 'archive/b.warc', content: 'WARC/1.1', deflate: true, descriptor },
      { name: 'archive/c.warc', content: 'the last', descriptor },
    ]);
    for (let length = bytes.length - 1; length >= 0; length--) {
      const cut = bytes.subarray(0, length);
      let result: Awaited<ReturnType<typeof opened>>;
      try {
        result = await opened(cut);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'NOT_WACZ');
        assert.ok(length < 44, `nothing of ${length} bytes was read`);
        continue;
      }
      assert.ok(result.wacz.isSalvaged);
      const [first] = await collect(result.wacz.warcs());
      const content = await text(first!.open());
      if (length > 130) assert.equal(content, `WARC/1.0 ${'PK\x07\x08'.repeat(9)}`);
      if (length === bytes.length - 1) assert.equal(result.wacz.entries.length, 4);
    }
  }
});

test('bytes after the end of a package do not hide it', async () => {
  const { wacz, codes } = await opened(Buffer.concat([zipOf(PACKAGE), Buffer.from('trailing bytes')]));
  assert.equal((await collect(wacz.warcs())).length, 1);
  assert.deepEqual(codes(), ['wacz-directory-broken']);
});

test('a package without its directory gives the entries after a broken entry and after foreign bytes', async () => {
  const bytes = zipOf(['a', 'b', 'c'].map((name) => ({ name: `archive/${name}.warc`, content: `WARC/1.0 ${name}` })));
  const lost = bytes.subarray(0, bytes.length - 10);
  const namesOf = async (changed: Buffer) => {
    const { wacz, findings } = await opened(changed);
    assert.deepEqual(
      findings.map(({ code }) => code),
      ['wacz-directory-broken'],
    );
    const names: string[] = [];
    for (const { name, open } of await collect(wacz.warcs())) names.push(`${name} ${(await text(open())).slice(9)}`);
    return { names, message: findings[0]!.message };
  };
  const [a, b, c] = ['a', 'b', 'c'].map((name) => `archive/${name}.warc ${name}`);
  const broken = Buffer.from(lost);
  broken[broken.indexOf('archive/b.warc') - 30] = 0;
  const behind = await namesOf(broken);
  assert.deepEqual(behind.names, [a, c]);
  assert.match(behind.message, /54 bytes belong to no entry/);
  assert.deepEqual((await namesOf(Buffer.concat([Buffer.from('#!/bin/sh\n'), bytes]))).names, [a, b, c]);
  await assert.rejects(opened(Buffer.from('PK are two letters, and this is no package')), { code: 'NOT_WACZ' });
});

test('any single changed byte leads to findings or an error, never to a crash', async () => {
  const bytes = zipOf(PACKAGE);
  const seed = 7;
  const random = seededRandom(seed);
  for (let round = 0; round < 600; round++) {
    const broken = Buffer.from(bytes);
    broken[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    try {
      const { wacz } = await opened(broken);
      for (const entry of wacz.entries) await text(wacz.read(entry));
      for (const warc of await collect(wacz.warcs())) await text(warc.open());
      await collect(wacz.index());
      await collect(wacz.pages());
      await collect(wacz.search(exactRange('test,example)/a')));
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'NOT_WACZ', `seed ${seed}, round ${round}: ${String(error)}`);
    }
  }
});

test('arbitrary bytes are not a package', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      await assert.rejects(opened(bytes), { code: 'NOT_WACZ' });
    }),
  );
});

test('ten thousand entries are listed', async () => {
  const members = Array.from({ length: 10_000 }, (_, i) => ({ name: `archive/${i}.warc`, content: utf8(String(i)) }));
  const { wacz, codes } = await opened(zipOf(members));
  assert.equal((await collect(wacz.warcs())).length, 10_000);
  assert.deepEqual(codes(), []);
});

const corpora = fileURLToPath(new URL('../../../../shared/corpora/wacz/', import.meta.url));

test('the packages of the corpora are read', { skip: !existsSync(corpora) && 'shared corpora absent' }, async () => {
  const expected: [path: string, warcs: number, entries: number, pages: number][] = [
    ['derived/wacz__multi-py-wacz.wacz', 2, 0, 0],
    ['harvard-lil+scoop/assets__fixtures__example.com.wacz', 1, 3, 3],
    ['webrecorder+py-wacz/_history__bb505327_valid_example_2.wacz', 1, 1, 0],
    ['webrecorder+py-wacz/_history__c580507d_valid_example_0.wacz', 1, 1, 0],
    ['webrecorder+py-wacz/fixtures__invalid_example_1.wacz', 0, 0, 0],
    ['webrecorder+py-wacz/fixtures__valid_example_1.wacz', 1, 1, 1],
    ['webrecorder+py-wacz/fixtures__valid_example_2.wacz', 1, 1, 1],
    ['webrecorder+py-wacz/fixtures__valid_signed_example_1.wacz', 1, 2, 1],
  ];
  for (const [path, warcs, entries, pages] of expected) {
    const wacz = await openWacz(`${corpora}${path}`, {
      onFinding: ({ level, message }) => assert.notEqual(level, 'error', message),
    });
    const found = await collect(wacz.warcs());
    for (const warc of found) {
      const start = Buffer.from(await wacz.source.read(warc.offset, 4));
      assert.ok(start.toString() === 'WARC' || start[0] === 0x1f, path);
    }
    assert.deepEqual(
      [found.length, (await collect(wacz.index())).length, (await collect(wacz.pages())).length],
      [warcs, entries, pages],
      path,
    );
    await wacz.close();
  }
});
