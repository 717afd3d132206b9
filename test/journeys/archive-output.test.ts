import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { linesOf, pinakes as pinakesProcess, startPinakes } from './pinakes-process.ts';
import { pinakes, pinakesBytes, pinakesJson } from './pinakes-runner.ts';
import { PAGE, scratch, writeSample, writeSite } from './warc-sample.ts';

async function sampleArchive(at: string): Promise<void> {
  await writeSample(join(at, 'a.warc.gz'));
  await writeSite(join(at, 'site.warc.gz'), 'site', 30);
  await pinakes(at, 'init');
  await pinakes(at, 'add', 'a.warc.gz', '--collection', 'first');
  await pinakes(at, 'add', 'site.warc.gz', '--collection', 'second');
}

test('export chooses WARC, WACZ, CDXJ, CDX or Parquet by the name of the file', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  for (const name of ['out.warc.gz', 'out.warc', 'out.wacz', 'out.cdxj', 'out.cdx', 'out.parquet']) {
    const exported = await pinakes(at, 'export', name);
    assert.equal(exported.code, 0, exported.err);
    assert.match(exported.out, new RegExp(`^${name}: \\d+ `));
    assert.ok(statSync(join(at, name)).size > 0);
    assert.match((await pinakes(at, 'export', name)).err, /\[FILE_EXISTS\]/);
    assert.equal((await pinakes(at, 'export', name, '--force')).code, 0);
  }
  const lines = pinakesProcess(at, 'export').out;
  assert.equal(lines, readFileSync(join(at, 'out.cdxj'), 'utf8'));
  assert.equal(readFileSync(join(at, 'out.cdx'), 'utf8').split('\n')[0], ' CDX N b a m s k r M S V g');
  assert.deepEqual(
    readdirSync(at).filter((name) => name.startsWith('.') || name.endsWith('.tmp')),
    [],
  );
});

test('a self-contained export is complete in another archive', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  const [report] = await pinakesJson(
    at,
    'export',
    'cdn.warc.gz',
    '--prefix',
    'cdn.example.test/',
    '--self-contained',
    '--json',
  );
  assert.deepEqual([report!.captures, report!.expanded], [1, 1]);
  await pinakes(at, 'init', 'other');
  await pinakes(at, 'add', '-a', 'other', 'cdn.warc.gz');
  const url = 'http://cdn.example.test/copy?id=7';
  assert.equal((await pinakes(at, 'get', '-a', 'other', url)).out, PAGE);
  assert.match(
    (await pinakes(at, 'get', '-a', 'other', url, '--headers')).out,
    /WARC-Type: response[\s\S]*Date: Sat, 02 Mar 2024 10:00:00 GMT/,
  );
});

test('export refuses an impossible request with advice', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  for (const [args, says] of [
    [['out.txt'], /the format is not clear from the name/],
    [['out.jsonl'], /out\.jsonl: .*`pinakes stream --json --out FILE` writes JSON lines/],
    [['out.warc.gz', '--format', 'zip'], /warc, wacz, cdxj/],
    [['--format', 'warc'], /name the file to write/],
    [['out.cdxj', '--self-contained'], /only WARC and WACZ files contain records/],
    [['out.warc.gz', '--collection', 'third'], /the archive has first, second/],
    [['none/out.warc.gz'], /FILE_MISSING/],
  ] as const) {
    const refused = await pinakes(at, 'export', ...args);
    assert.equal(refused.code, 2, args.join(' '));
    assert.match(refused.err, says);
  }
  const empty = await pinakes(at, 'export', 'empty.warc.gz', '--url', 'http://nowhere.test/');
  assert.equal(empty.code, 0);
  assert.match(empty.err, /No capture is selected/);
});

test('stream writes WARC with the records of the archive, and JSON lines', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  writeFileSync(join(at, 'streamed.warc.gz'), await pinakesBytes(at, 'stream'));
  assert.equal((await pinakes(at, 'warc', 'check', 'streamed.warc.gz')).code, 0);
  const types = (await pinakesJson(at, 'stream', '--json')).map(({ type }) => type);
  assert.equal(types.length, linesOf((await pinakes(at, 'warc', 'ls', '--json', 'streamed.warc.gz')).out).length);
  const captures = await pinakesJson(at, 'stream', '--format', 'json', '--order', 'time', '--collection', 'first');
  const lines = await pinakesJson(at, 'stream', '--format', 'jsonl', '--order', 'time', '--collection', 'first');
  assert.deepEqual(lines, captures, 'by the name that the HTTP interface has for it');
  assert.match(
    (await pinakes(at, 'stream', '--format', 'parquet')).err,
    /warc or jsonl; `pinakes export FILE\.parquet`/,
  );
  const dates = captures.map(({ date }) => Date.parse(date as string));
  assert.deepEqual(
    dates,
    [...dates].sort((a, b) => a - b),
  );
  assert.equal(captures.length, 5);
  assert.match((await pinakes(at, 'stream', '--order', 'size')).err, /storage, url, time/);
  assert.match((await pinakes(at, 'stream', '--cursor', 'nonsense')).err, /\[BAD_ARGUMENT\]/);
});

test('a killed stream continues from its cursor file, and writes the same file as an uninterrupted one', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  await writeSite(join(at, 'site.warc.gz'), 'site', 1500);
  await pinakes(at, 'add', 'site.warc.gz');
  await pinakes(at, 'stream', '--order', 'url', '--out', 'whole.warc.gz');
  const whole = readFileSync(join(at, 'whole.warc.gz'));
  const out = join(at, 'out.warc.gz');
  const args = ['stream', '--order', 'url', '--out', 'out.warc.gz', '--cursor-file', 'cursor'];
  let kills = 0;
  for (let round = 0; round < 3; round++) {
    const size = existsSync(out) ? statSync(out).size : 0;
    const child = startPinakes(at, ...args);
    const exited = new Promise((resolve) => child.on('exit', resolve));
    let isOver = false;
    void exited.then(() => (isOver = true));
    while (!isOver && !(existsSync(join(at, 'cursor')) && existsSync(out) && statSync(out).size > size + 20_000))
      await pause(2);
    if (!isOver && child.kill('SIGKILL')) kills++;
    await exited;
  }
  const last = pinakesProcess(at, ...args);
  assert.equal(last.code, 0, last.err);
  assert.ok(readFileSync(out).equals(whole));
  assert.ok(kills > 0, 'no stream was killed');
});

test('a pipe or a device is never replaced by a file, even with --force', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  execFileSync('mkfifo', [join(at, 'pipe')]);
  symlinkSync('/proc/self/fd/1', join(at, 'stdout'));
  for (const name of ['pipe', 'stdout']) {
    for (const command of [
      ['export', name, '--format', 'warc', '--force'],
      ['export', name, '--format', 'wacz', '--force'],
      ['export', name, '--format', 'parquet', '--force'],
      ['export', name, '--format', 'cdxj', '--force'],
      ['slim', 'sum', 'volumes', '--out', name, '--force'],
    ]) {
      const { code, err } = await pinakes(at, ...command);
      assert.deepEqual([code, /\[(\w+)\]/.exec(err)?.[1]], [2, 'FILE_NOT_SEEKABLE'], `${command.join(' ')}: ${err}`);
    }
    assert.ok(!lstatSync(join(at, name)).isFile());
  }
  symlinkSync('/dev/null', join(at, 'null'));
  const { code, err } = await pinakes(at, 'stream', '--out', 'null', '--force');
  assert.equal(code, 0, err);
  execFile('cat', [join(at, 'pipe')], () => {});
  assert.match((await pinakes(at, 'stream', '--out', 'pipe', '--force')).err, /\[FILE_NOT_SEEKABLE\]/);
});

test('stream refuses a file name of another format, replaces a file only with --force, and reports the written bytes', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  const first = await pinakes(at, 'stream', '--out', 'all.warc.gz');
  assert.deepEqual([first.code, first.out], [0, '']);
  assert.match(first.err, /^all\.warc\.gz: \d.* of gzipped WARC\n$/);
  const whole = readFileSync(join(at, 'all.warc.gz'));
  assert.match((await pinakes(at, 'stream', '--out', 'all.warc.gz')).err, /FILE_EXISTS.*--force/s);
  for (const command of [
    ['stream', '--out', '.'],
    ['export', '.', '--format', 'warc', '--force'],
  ])
    assert.match((await pinakes(at, ...command)).err, /^pinakes: .*a directory where a file is needed/);
  assert.match((await pinakes(at, 'stream', '--out', 'all.warc.gz/')).err, /a file stands where a directory is needed/);
  writeFileSync(join(at, 'all.warc.gz'), Buffer.alloc(whole.length * 2));
  assert.equal((await pinakes(at, 'stream', '--out', 'all.warc.gz', '--force')).code, 0);
  assert.ok(readFileSync(join(at, 'all.warc.gz')).equals(whole));
  assert.equal((await pinakes(at, 'stream', '--json', '--out', 'all.jsonl')).code, 0);
  assert.equal((await pinakes(at, 'stream', '--out', 'plain')).code, 0);
  for (const args of [
    ['all.json'],
    ['all.warc'],
    ['all.warc.zst'],
    ['all.jsonl.gz'],
    ['all2.warc.gz', '--json'],
    ['all2.parquet', '--json'],
  ]) {
    const refused = await pinakes(at, 'stream', '--out', ...args);
    assert.equal(refused.code, 2, args.join(' '));
    assert.match(
      refused.err,
      /name the file with the ending.*BAD_ARGUMENT|BAD_ARGUMENT.*name the file with the ending/,
    );
    assert.ok(!existsSync(join(at, args[0]!)));
  }
});

test('--json prints index lines and the number of links as JSON', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  const lines = linesOf((await pinakes(at, 'export')).out);
  const items = await pinakesJson(at, 'export', '--json');
  assert.equal(items.length, lines.length);
  const { urlkey, timestamp, ...fields } = items[0]!;
  assert.ok(lines[0]!.startsWith(`${urlkey} ${timestamp} {`));
  assert.deepEqual(fields, JSON.parse(lines[0]!.slice(lines[0]!.indexOf('{'))));
  assert.match((await pinakes(at, 'export', '--json', '--format', 'cdx11')).err, /BAD_ARGUMENT.*not JSON/);
  await pinakes(at, 'index');
  const links = await pinakesJson(at, 'links', 'http://site.test/3', '--direction', 'out', '--limit', '5', '--json');
  for (const limit of ['-1', '0', '1.5', 'many'])
    assert.match((await pinakes(at, 'links', 'http://site.test/3', `--limit=${limit}`)).err, /BAD_ARGUMENT/, limit);
  assert.deepEqual([links.length, links.at(-1)], [6, { total: 12 }]);
  const refused = await pinakes(at, 'links', '--out', 'edges.xls');
  assert.deepEqual([refused.code, existsSync(join(at, 'edges.xls'))], [2, false]);
  assert.match(refused.err, /\.csv or \.parquet.*BAD_ARGUMENT/);
  assert.equal((await pinakes(at, 'links', '--out', 'edges.csv')).code, 0);
});

test('an empty list is explained, and so is a search word that starts with a dash', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  const none = await pinakes(at, 'snapshot', 'ls');
  assert.deepEqual([none.code, none.out], [0, '']);
  assert.match(none.err, /no snapshots yet/);
  assert.equal((await pinakes(at, 'snapshot', 'ls', '--json')).err, '');
  await sampleArchive(at);
  const dashed = pinakesProcess(at, 'search', 'scroll', '-closed');
  assert.equal(dashed.code, 2);
  assert.match(dashed.err, /unknown option '-closed'.*quote the whole query.*write -- before it/s);
  const asElsewhere = await pinakes(at, 'search', 'library', '--collection', 'first');
  assert.deepEqual([asElsewhere.code, asElsewhere.out], [2, '']);
  assert.match(
    asElsewhere.err,
    /unknown option '--collection'.*write conditions as words of the query.* collection:spring/s,
  );
  await pinakes(at, 'index');
  const quoted = (await pinakes(at, 'search', 'scroll -closed')).out;
  assert.match(quoted, /result/);
  assert.equal((await pinakes(at, 'search', '--', 'scroll', '-closed')).out, quoted);
  await pinakes(at, 'init', 'small');
  await pinakes(at, 'add', '-a', 'small', 'a.warc.gz');
  assert.match((await pinakes(at, 'stats', '-a', 'small')).out, /^segments .* 1 file$/m);
});

test('stats prints a table, and JSON with named numbers', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  assert.equal((await pinakes(at, 'stats')).out, 'the archive is empty\n');
  await sampleArchive(at);
  const { out } = pinakesProcess(at, 'stats');
  assert.match(out, /^captures +35$/m);
  assert.match(out, /^collection +from +to +captures +URLs +dups within +dups of previous +URLs persistent$/m);
  const [stats] = await pinakesJson(at, 'stats', '--json');
  for (const name of ['captures', 'blocks', 'revisits', 'payloadBytes', 'uniquePayloadBytes', 'storedBytes'])
    assert.equal(typeof stats![name], 'number', name);
  assert.equal((stats!.collections as unknown[]).length, 2);
});

test('a body that decodes to gigabytes is printed piece by piece, and printing stops when its reader is gone', async (t) => {
  const at = scratch(t);
  // 26 gigabytes of blocks of 128 KiB that repeat one byte.
  const frame = [
    Buffer.from('28b52ffd0058', 'hex'),
    Buffer.alloc(800_000, '02001061', 'hex'),
    Buffer.from('03001061', 'hex'),
  ];
  const body = zstdCompressSync(Buffer.concat(frame));
  const http = Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: zstd, zstd\r\n\r\n');
  const block = Buffer.concat([http, body]);
  const head = [
    'WARC/1.1',
    'WARC-Type: response',
    'WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>',
    'WARC-Date: 2024-01-01T00:00:00Z',
    'WARC-Target-URI: http://large.example.test/',
    'Content-Type: application/http;msgtype=response',
    `Content-Length: ${block.length}`,
  ];
  writeFileSync(
    join(at, 'large.warc'),
    Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), block, Buffer.from('\r\n\r\n')]),
  );
  await pinakes(at, 'init');
  assert.equal((await pinakes(at, 'add', 'large.warc')).code, 0);
  for (const args of [
    ['get', 'http://large.example.test/'],
    ['warc', 'cat', 'large.warc', '0', '--decoded'],
  ]) {
    const child = startPinakes(at, ...args);
    const exit = once(child, 'exit');
    const [first] = (await once(child.stdout!, 'data')) as [Buffer];
    assert.equal(first.toString('latin1', 0, 3), 'aaa');
    child.stdout!.destroy();
    assert.deepEqual(await exit, [0, null], args.join(' '));
  }
});

test('an empty stream is reported, and an unknown volume is not reported as a missing disk', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  const empty = await pinakes(at, 'stream', '--type', 'conversion');
  assert.deepEqual([empty.code, empty.out], [0, '']);
  assert.match(empty.err, /^No record is selected, or the stream was already at its end\.\n$/);
  assert.equal((await pinakes(at, 'stream', '--type', 'response')).err, '');
  assert.match(
    (await pinakes(at, 'volume', 'migrate', 'mian', 'main')).err,
    /no volume of this name.*`pinakes volume ls`/s,
  );
});

test('a count of one is printed in the singular', async (t) => {
  const at = scratch(t);
  await writeSite(join(at, 'one.warc.gz'), 'a-site-whose-page-is-larger-than-a-revisit', 1);
  await pinakes(at, 'init');
  await pinakes(at, 'add', '--collection', 'first', 'one.warc.gz');
  const again = (await pinakes(at, 'add', '--collection', 'second', 'one.warc.gz')).out;
  assert.match(again, /^1 file: 1 new capture\n1 kept as a revisit, /);
  const alone = (await pinakes(at, 'export', '--collection', 'second', '--self-contained', 'second.warc.gz')).out;
  assert.match(alone, /^second\.warc\.gz: 1 capture with 0 concurrent records, .*\n1 revisit became a full record\n$/);
  await pinakes(at, 'export', '--collection', 'second', 'lone.warc.gz');
  await pinakes(at, 'init', 'other');
  await pinakes(at, 'add', '-a', 'other', 'lone.warc.gz');
  const lone = await pinakes(at, 'export', '-a', 'other', '--self-contained', 'still-lone.warc.gz');
  assert.match(
    lone.err,
    /^1 revisit stays a revisit in the file, because the content is missing from the archive or damaged\.$/m,
  );
  await pinakes(at, 'delete', '--collection', 'first', '--yes');
  assert.match(
    (await pinakes(at, 'compact')).out,
    /; 1 revisit became a full record, 0 now refer to another record\n$/,
  );
});

test('a missing directory of an output file is reported before any work is done', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  await pinakes(at, 'index');
  const told = /^pinakes: absent: there is no such file or directory \(the directory to write to\) \[FILE_MISSING\]\n/;
  for (const args of [
    ...['out.warc.gz', 'out.wacz', 'out.cdxj', 'out.parquet'].map((name) => ['export', `absent/${name}`]),
    ['stream', '--out', 'absent/out.warc.gz'],
    ['links', '--out', 'absent/out.csv'],
    ['links', '--out', 'absent/out.parquet'],
    ['stream', '--out', 'out.warc.gz', '--cursor-file', 'absent/cursor'],
  ]) {
    const { code, out, err } = await pinakes(at, ...args);
    assert.deepEqual([code, out], [2, ''], args.join(' '));
    assert.match(err, told, args.join(' '));
  }
  assert.ok(!existsSync(join(at, 'out.warc.gz')));
});

test('a stream refuses an unknown record type', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  const refused = await pinakes(at, 'stream', '--json', '--type', 'response,revist');
  assert.deepEqual([refused.code, refused.out], [2, '']);
  assert.match(refused.err, /BAD_ARGUMENT.*--type 'revist'.*warcinfo, response, .*revisit/);
  const lines = await pinakesJson(at, 'stream', '--json', '--type', 'Request, revisit');
  assert.deepEqual([...new Set(lines.map(({ type }) => type))].sort(), ['request', 'revisit']);
});

test('a stream of JSON lines has the text and the links of pages with --text and --links', async (t) => {
  const at = scratch(t);
  await sampleArchive(at);
  type Line = { type: string; page?: { title: string; text?: string; links?: unknown[] } };
  const lines = async (...asked: string[]) =>
    (await pinakesJson(at, 'stream', '--json', '--collection', 'second', ...asked)) as Line[];
  const plain = await lines();
  assert.ok(plain.every(({ page }) => page === undefined));
  const texts = (await lines('--text')).flatMap(({ page }) => page ?? []);
  assert.ok(texts.length > 0);
  assert.ok(texts.every(({ text, links }) => typeof text === 'string' && links === undefined));
  assert.ok(texts.some(({ text }) => text !== ''));
  const linked = (await lines('--links')).flatMap(({ page }) => page ?? []);
  assert.ok(linked.every(({ text, links }) => text === undefined && Array.isArray(links)));
  const refused = await pinakes(at, 'stream', '--text');
  assert.deepEqual([refused.code, refused.out], [2, '']);
  assert.match(refused.err, /--text.*add --json.*\[BAD_ARGUMENT\]/);
});
