import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { writeWacz } from '../../src/warc/index.ts';
import { linesOf } from './pinakes-process.ts';
import { pinakes, pinakesBytes, pinakesJson } from './pinakes-runner.ts';
import { ARC_FILE, JPEG, PAGE, scratch, writePackage, writeSample, writeSite } from './warc-sample.ts';

/** The facts that a change of compression must not change. */
async function facts(directory: string, file: string): Promise<Record<string, unknown>[]> {
  return (await pinakesJson(directory, 'warc', 'ls', '--json', file)).map((record) => {
    const { file: _file, offset: _offset, length: _length, compressed_length: _compressed, ...kept } = record;
    return kept;
  });
}

test('convert from gzip to zstd to plain and back keeps every record byte for byte', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  const original = readFileSync(join(at, 'a.warc.gz'));
  const steps = [
    ['a.warc.gz', 'warc.zst'],
    ['a.warc.zst', 'warc'],
  ] as const;
  for (const [source, to] of steps) {
    const { code, out, err } = await pinakes(at, 'warc', 'convert', '--to', to, source);
    assert.deepEqual({ code, err }, { code: 0, err: '' });
    assert.match(out, new RegExp(`^a\\.${to}: 7 records, .* -> .*, read back and compared\n$`));
    assert.deepEqual(await facts(at, `a.${to}`), await facts(at, 'a.warc.gz'));
  }
  assert.deepEqual(readFileSync(join(at, 'a.warc')), gunzipSync(original));
  mkdirSync(join(at, 'back'));
  assert.equal((await pinakes(at, 'warc', 'convert', '--to', 'warc.gz', '--out', 'back', 'a.warc.zst')).code, 0);
  assert.deepEqual(readFileSync(join(at, 'back/a.warc.gz')), original);
  assert.deepEqual(readFileSync(join(at, 'a.warc.gz')), original);
  assert.deepEqual(readdirSync(at).sort(), ['a.warc', 'a.warc.gz', 'a.warc.zst', 'back']);
});

test('convert trains one dictionary per file or one per site, and files with both can be read', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'one');
  await writeSite(join(at, 'two.warc.gz'), 'two');
  const convert = (kind: string) =>
    pinakesJson(
      at,
      'warc',
      'convert',
      '--to',
      'warc.zst',
      '--dictionary',
      kind,
      '--out',
      kind,
      '--json',
      'one.warc.gz',
      'two.warc.gz',
    );
  const bytes: Record<string, number> = {};
  for (const kind of ['none', 'file', 'site']) {
    const reports = await convert(kind);
    assert.deepEqual(
      reports.map(({ file, target, records, rewritten, bytesBefore }) => ({
        file,
        target,
        records,
        rewritten,
        bytesBefore,
      })),
      ['one', 'two'].map((name) => ({
        file: `${name}.warc.gz`,
        target: `${kind}/${name}.warc.zst`,
        records: 400,
        rewritten: 0,
        bytesBefore: statSync(join(at, `${name}.warc.gz`)).size,
      })),
    );
    for (const { target, bytes } of reports) assert.equal(statSync(join(at, target as string)).size, bytes);
    bytes[kind] = reports.reduce((sum, report) => sum + (report.bytes as number), 0);
  }
  assert.ok(bytes.file! < 0.75 * bytes.none!, JSON.stringify(bytes));
  assert.ok(bytes.site! < 0.75 * bytes.none!, JSON.stringify(bytes));
  const dictionaryFrame = (path: string) => {
    const start = readFileSync(join(at, path));
    assert.equal(start.readUInt32LE(0), 0x184d2a5d);
    return start.subarray(0, 8 + start.readUInt32LE(4));
  };
  assert.deepEqual(dictionaryFrame('site/one.warc.zst'), dictionaryFrame('site/two.warc.zst'));
  assert.notDeepEqual(dictionaryFrame('file/one.warc.zst'), dictionaryFrame('file/two.warc.zst'));
  assert.equal((await pinakes(at, 'warc', 'check', 'file', 'site', 'none')).code, 0);
  assert.deepEqual(await facts(at, 'site/two.warc.zst'), await facts(at, 'two.warc.gz'));
});

test('convert turns ARC into WARC with the same dates and addresses, a metadata record for the version block, and digests', async (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'demo.arc'), ARC_FILE);
  assert.equal((await pinakes(at, 'warc', 'convert', '--to', 'warc.gz', 'demo.arc')).code, 0);
  const records = await pinakesJson(at, 'warc', 'ls', '--json', 'demo.warc.gz');
  assert.deepEqual(records.map(({ type, uri, date }) => [type, uri, date]).slice(1), [
    ['metadata', 'filedesc://demo.arc', '2024-03-01T10:00:00Z'],
    ['response', 'http://www.example.test:80/a', '2024-03-01T10:00:00Z'],
    ['resource', 'dns:www.example.test', '2024-03-01T09:59:59Z'],
  ]);
  assert.equal(records[0]!.type, 'warcinfo');
  const offset = (record: number) => String(records[record]!.offset);
  const cat = async (record: number, flag: string) =>
    (await pinakes(at, 'warc', 'cat', 'demo.warc.gz', offset(record), flag)).out;
  assert.match(await cat(1, '--block'), /^1 0 ExampleOrg\nURL IP-address Archive-date Content-type Archive-length\n/);
  assert.match(await cat(2, '--headers'), /WARC-IP-Address: 192\.0\.2\.10\r\n/);
  assert.equal(await cat(2, '--payload'), PAGE);
  assert.match(await cat(3, '--headers'), /Content-Type: text\/dns\r\n/);
  const check = await pinakes(at, 'warc', 'check', 'demo.warc.gz');
  assert.equal(check.code, 0);
  assert.match(check.out, /digests: 3 right, 0 wrong/);
  assert.equal(readFileSync(join(at, 'demo.arc'), 'latin1'), ARC_FILE);
});

test('convert writes the files of packages, each under a unique name', async (t) => {
  const at = scratch(t);
  for (const name of ['one', 'two']) {
    mkdirSync(join(at, name));
    await writeSample(join(at, name, 'data.warc.gz'));
    await writePackage(join(at, `${name}.wacz`), [join(at, name, 'data.warc.gz')]);
  }
  const { code, err } = await pinakes(
    at,
    'warc',
    'convert',
    '--to',
    'warc.zst',
    '--out',
    'new',
    'one.wacz',
    'two.wacz',
  );
  assert.deepEqual({ code, err }, { code: 0, err: '' });
  assert.deepEqual(readdirSync(join(at, 'new')), ['one-data.warc.zst', 'two-data.warc.zst']);
  assert.deepEqual(await facts(at, 'new/two-data.warc.zst'), await facts(at, 'one/data.warc.gz'));
  const packages = ['one.wacz', 'two.wacz'].map((name) => join(at, name));
  await writeWacz(join(at, 'both.wacz'), {
    ...{ software: 'sample/1', createdMs: 0, pages: [], indexLines: [] },
    warcs: packages,
  });
  const nested = await pinakes(at, 'warc', 'convert', '--to', 'warc', '--out', 'all', 'both.wacz');
  assert.equal(nested.code, 0, nested.err);
  assert.deepEqual(readdirSync(join(at, 'all')), ['both-one-data.warc', 'both-two-data.warc']);
});

test('convert replaces a file only with --force', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  writeFileSync(join(at, 'a.warc'), 'precious');
  const refused = await pinakes(at, 'warc', 'convert', '--to', 'warc', 'a.warc.gz');
  assert.deepEqual([refused.code, refused.out], [2, '']);
  assert.match(refused.err, /a\.warc: the file exists already \[FILE_EXISTS\]\n {2}.*--force/);
  assert.equal(readFileSync(join(at, 'a.warc'), 'utf8'), 'precious');
  assert.equal((await pinakes(at, 'warc', 'convert', '--to', 'warc', '--force', 'a.warc.gz')).code, 0);
  assert.deepEqual(readFileSync(join(at, 'a.warc')), gunzipSync(readFileSync(join(at, 'a.warc.gz'))));
  assert.deepEqual(readdirSync(at).sort(), ['a.warc', 'a.warc.gz']);
});

test('convert never replaces a source or a file that it just wrote, even with --force', async (t) => {
  const at = scratch(t);
  for (const directory of ['x', 'y']) mkdirSync(join(at, directory));
  await writeSample(join(at, 'a.warc.gz'));
  await writeSample(join(at, 'a.warc'), 'none');
  await writeSite(join(at, 'x/s.warc.gz'), 'x', 3);
  await writeSite(join(at, 'y/s.warc.gz'), 'y', 4);
  const before = readFileSync(join(at, 'a.warc.gz'));
  const own = await pinakes(at, 'warc', 'convert', '--to', 'warc.gz', '--force', 'a.warc.gz');
  assert.equal(own.code, 2);
  assert.match(own.err, /its own source/);
  const other = await pinakes(at, 'warc', 'convert', '--to', 'warc.gz', '--force', 'a.warc', 'a.warc.gz');
  assert.equal(other.code, 2);
  assert.match(other.err, /one of the files to convert/);
  assert.deepEqual(readFileSync(join(at, 'a.warc.gz')), before);
  const twice = await pinakes(
    at,
    'warc',
    'convert',
    '--to',
    'warc',
    '--force',
    '--out',
    'new',
    'x/s.warc.gz',
    'y/s.warc.gz',
  );
  assert.equal(twice.code, 2);
  assert.match(twice.err, /x\/s\.warc\.gz was just converted to this file/);
  assert.equal((await pinakesJson(at, 'warc', 'ls', '--json', 'new/s.warc')).length, 3);
  assert.equal((await pinakes(at, 'warc', 'convert', '--to', 'warc', '--out', 'all', '.')).code, 2);
});

test('convert --out keeps the directories below the named directory', async (t) => {
  const at = scratch(t);
  for (const directory of ['crawl/x', 'crawl/y']) mkdirSync(join(at, directory), { recursive: true });
  for (const directory of ['x', 'y']) await writeSample(join(at, 'crawl', directory, 's.warc.gz'));
  assert.equal((await pinakes(at, 'warc', 'convert', '--to', 'warc.zst', '--out', 'new', 'crawl')).code, 0);
  assert.ok(existsSync(join(at, 'new/x/s.warc.zst')));
  assert.ok(existsSync(join(at, 'new/y/s.warc.zst')));
});

test('convert writes nothing for a file that is not an archive file or has no records', async (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'photo.warc.gz'), JPEG);
  writeFileSync(join(at, 'empty.warc.gz'), '');
  const { code, out, err } = await pinakes(at, 'warc', 'convert', '--to', 'warc.zst', '--out', 'new/deep', '.');
  assert.equal(code, 2);
  assert.equal(out, 'empty.warc.gz: no records, nothing written\n');
  assert.match(err, /photo\.warc\.gz: this is neither a WARC nor an ARC file \[NOT_WARC\]/);
  assert.deepEqual(readdirSync(at).sort(), ['empty.warc.gz', 'photo.warc.gz']);
});

test('convert keeps the readable part of a damaged file, reports the loss, and exits with 1', async (t) => {
  const at = scratch(t);
  const places = await writeSample(join(at, 'a.warc.gz'));
  const bytes = readFileSync(join(at, 'a.warc.gz'));
  writeFileSync(
    join(at, 'bad.warc.gz'),
    Buffer.concat([bytes.subarray(0, places[2]!.offset), Buffer.alloc(64, 0x55), bytes.subarray(places[2]!.offset)]),
  );
  const { code, out, err } = await pinakes(at, 'warc', 'convert', '--to', 'warc.zst', 'bad.warc.gz');
  assert.equal(code, 1);
  assert.match(out, /^bad\.warc\.zst: 7 records, /);
  assert.match(err, new RegExp(`^bad\\.warc\\.gz:${places[2]!.offset}: error garbage-skipped: .*64 bytes`, 'm'));
  assert.match(err, /Keep the sources\.$/m);
  assert.deepEqual(await facts(at, 'bad.warc.zst'), await facts(at, 'a.warc.gz'));
});

test('a record cut off by the end of the file is converted with its actual length and marked as truncated', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc'), 'none');
  const bytes = readFileSync(join(at, 'a.warc'));
  writeFileSync(join(at, 'cut.warc'), bytes.subarray(0, bytes.length - 30));
  writeFileSync(join(at, 'cut.arc'), ARC_FILE.slice(0, -5));
  const { code, err } = await pinakes(at, 'warc', 'convert', '--to', 'warc.gz', '--out', 'new', 'cut.warc');
  assert.equal(code, 1);
  assert.match(err, /content-length-rewritten/);
  const last = (await pinakesJson(at, 'warc', 'ls', '--json', 'new/cut.warc.gz')).at(-1)!;
  assert.equal(last.truncated, 'unspecified');
  assert.ok(!('error' in last));
  assert.equal((await pinakes(at, 'warc', 'convert', '--to', 'warc.gz', 'cut.arc')).code, 1);
  assert.equal((await pinakesJson(at, 'warc', 'ls', '--json', 'cut.warc.gz')).at(-1)!.truncated, 'unspecified');
});

test('convert refuses invalid arguments before it reads anything', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  const refused = [
    ['--to', 'rar'],
    ['--to', 'constructor'],
    ['--to', 'warc.zst', '--level', '20'],
    ['--to', 'warc.gz', '--level', 'best'],
    ['--to', 'warc.zst', '--dictionary', 'mine'],
  ];
  for (const options of refused) {
    const { code, err } = await pinakes(at, 'warc', 'convert', ...options, 'a.warc.gz');
    assert.equal(code, 2, options.join(' '));
    assert.match(err, /\[BAD_ARGUMENT\]/);
  }
  assert.equal((await pinakes(at, 'warc', 'convert', 'a.warc.gz')).code, 2);
  writeFileSync(join(at, 'file'), '');
  assert.match(
    (await pinakes(at, 'warc', 'convert', '--to', 'warc', '--out', 'file/x', 'a.warc.gz')).err,
    /\[FILE_NOT_DIRECTORY\]/,
  );
  assert.deepEqual(readdirSync(at).sort(), ['a.warc.gz', 'file']);
});

test('a record of a zstd file with a dictionary can be read by itself', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 's.warc.gz'), 's');
  await pinakes(at, 'warc', 'convert', '--to', 'warc.zst', 's.warc.gz');
  const [first, second] = await pinakesJson(at, 'warc', 'ls', '--json', 's.warc.zst');
  assert.equal(first!.uri, 'http://s.test/0');
  const payload = (await pinakesBytes(at, 'warc', 'cat', 's.warc.zst', String(second!.offset), '--payload')).toString();
  assert.ok(payload.startsWith('<html><title>Page 1 of s</title>'), payload.slice(0, 80));
  assert.equal(linesOf((await pinakes(at, 'warc', 'index', 's.warc.zst')).out).length, 400);
});

test('convert reports once that --out is a file', async (t) => {
  const at = scratch(t);
  for (const name of ['a', 'b']) await writeSample(join(at, `${name}.warc.gz`));
  const { code, out, err } = await pinakes(at, 'warc', 'convert', '--to', 'warc', '--out', 'a.warc.gz', '.');
  assert.deepEqual([code, out], [2, '']);
  assert.match(err, /^pinakes: a\.warc\.gz: a file stands where a directory is needed \[FILE_NOT_DIRECTORY\]\n.*\n$/);
});

test('convert prints every change that it makes, and counts repeated findings after printing a few', async (t) => {
  const at = scratch(t);
  const record = (n: number) =>
    `WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://odd.test/${n}\r\n\r\n\r\n\r\n`;
  writeFileSync(join(at, 'odd.warc'), [1, 2, 3, 4, 5, 6, 7].map(record).join(''));
  const { code, err } = await pinakes(at, 'warc', 'convert', '--to', 'warc.gz', 'odd.warc');
  assert.equal(code, 1, err);
  const told = (kind: string) => linesOf(err).filter((line) => line.includes(` ${kind}: `)).length;
  assert.deepEqual([told('content-length-invalid'), told('content-length-rewritten')], [5, 7], err);
  assert.match(err, /\n\.\.\. and 2 more of content-length-invalid; `pinakes warc check` lists them all\n/);
  assert.match(err, /\n7 errors in the sources: .*\n$/);
});
