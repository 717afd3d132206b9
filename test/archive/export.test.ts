import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Archive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';
import {
  BlockScanner,
  openWacz,
  parseCdxjLine,
  type ReadingRecord,
  readRecords,
  verifyWacz,
  WarcFileWriter,
  warcInputs,
} from '../../src/warc/index.ts';
import { bytesOf, contentOf, makeArchive, NOON, page, temporaryDirectory } from './trial-archive.ts';

const SOFTWARE = 'pinakes/test';
const CAPTURES = new Set(['response', 'resource', 'conversion', 'revisit']);

type Seen = {
  readonly type: string;
  readonly id: string;
  readonly url: string;
  readonly time: number;
  readonly head: Uint8Array;
  readonly payload: string;
  readonly record: ReadingRecord['head'];
};

/** Every capture in a file, as a reader of the file sees it. */
async function capturesIn(records: AsyncIterable<ReadingRecord>): Promise<Seen[]> {
  const seen: Seen[] = [];
  for await (const record of records) {
    const scanner = new BlockScanner(record.head, { payload: ['sha256'] });
    for await (const piece of record.body()) scanner.push(piece);
    const { http, payloadDigests } = scanner.end();
    const { type, targetUri, time, recordId } = record.head;
    if (!CAPTURES.has(type) || targetUri === undefined || targetUri === '' || time === undefined) continue;
    const payload = Buffer.from(payloadDigests[0]!.bytes).toString('hex');
    seen.push({
      type,
      id: recordId ?? '',
      url: targetUri,
      time,
      head: http?.bytes ?? new Uint8Array(0),
      payload,
      record: record.head,
    });
  }
  return seen;
}

/**
 * The HTTP head without the fields about codings. An expanded record has these fields of the record that held its
 * payload.
 */
function withoutCodings(head: Uint8Array): string {
  const lines = Buffer.from(head).toString('latin1').split(/\r?\n/);
  return lines
    .filter((line) => line !== '' && !/^(transfer|content)-encoding\s*:/i.test(line))
    .map((line) => line.trimEnd())
    .join('\n');
}

function sameAs(capture: Seen): string {
  const head = createHash('sha256').update(withoutCodings(capture.head)).digest('hex').slice(0, 16);
  return `${capture.url} ${capture.time} ${head} ${capture.payload}`;
}

/** Identifies a capture; ARC records do not have ids. */
function identityOf({ id, url, time, payload }: Seen): string {
  return `${id || payload} ${url} ${time}`;
}

async function exported(archive: Archive, selection: Parameters<Archive['exportWarc']>[0], options = {}) {
  const path = join(archive.directory, `export-${Math.floor(performance.now() * 1000)}.warc.gz`);
  const report = await archive.exportWarc(selection, path, { software: SOFTWARE, ...options });
  const records: ReadingRecord['head'][] = [];
  for await (const record of readRecords(path)) records.push(record.head);
  return { path, report, records, captures: await capturesIn(readRecords(path)) };
}

async function threePages(t: TestContext): Promise<Archive> {
  const archive = await makeArchive(t, { policies: { dedupBytesMin: 64 } });
  const shared = contentOf('shared');
  const request = (path: string) => utf8(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
  await archive.store(
    { ...page('http://a.test/one', NOON, shared), request: request('/one') },
    { collection: 'first' },
  );
  await archive.store(
    { ...page('http://a.test/two', NOON + 1000, shared, ['X-Own: two']), request: request('/two') },
    { collection: 'second' },
  );
  await archive.store(page('http://b.test/three', NOON + 2000, contentOf('three')), { collection: 'second' });
  return archive;
}

describe('exporting WARC', () => {
  test('contains the selected captures and their requests', async (t) => {
    const archive = await threePages(t);
    const { records, report } = await exported(archive, { prefix: 'a.test/' });
    assert.deepEqual(
      records.map((head) => `${head.type} ${head.targetUri ?? ''}`),
      [
        'warcinfo ',
        'response http://a.test/one',
        'request http://a.test/one',
        'revisit http://a.test/two',
        'request http://a.test/two',
      ],
    );
    assert.deepEqual([report.captures, report.concurrentRecords, report.revisits], [2, 2, 1]);
  });

  test('leaves requests out on request', async (t) => {
    const archive = await threePages(t);
    const { records } = await exported(archive, {}, { concurrentRecords: false });
    assert.deepEqual(
      records.map(({ type }) => type),
      ['warcinfo', 'response', 'revisit', 'response'],
    );
  });

  test('I4: copies records byte for byte', async (t) => {
    const archive = await threePages(t);
    const { path } = await exported(archive, {});
    const whole = readFileSync(path);
    for (const { place } of (await archive.captures({})[Symbol.asyncIterator]().next()).value ?? []) {
      const member = await bytesOf(archive.records.memberPieces(place));
      assert.ok(whole.includes(member));
    }
  });

  test('keeps a revisit and its references when its holder is not selected', async (t) => {
    const archive = await threePages(t);
    const { records } = await exported(archive, { url: 'http://a.test/two' });
    const revisit = records.find(({ type }) => type === 'revisit')!;
    assert.equal(revisit.get('warc-refers-to-target-uri'), 'http://a.test/one');
  });

  test('self-contained, a revisit becomes a full record with its own head', async (t) => {
    const archive = await threePages(t);
    const { captures, records, report } = await exported(
      archive,
      { collection: await archive.collections.find('second') },
      { selfContained: true },
    );
    assert.equal(report.expanded, 1);
    assert.deepEqual(
      captures.map(({ type, url }) => `${type} ${url}`),
      ['response http://a.test/two', 'response http://b.test/three'],
    );
    const [two] = captures;
    assert.match(Buffer.from(two!.head).toString(), /X-Own: two\r\n/);
    assert.equal(two!.payload, createHash('sha256').update(contentOf('shared')).digest('hex'));
    const head = records.find((record) => record.targetUri === 'http://a.test/two')!;
    assert.ok(head.get('warc-previous-record-id'));
    assert.notEqual(head.recordId, head.get('warc-previous-record-id'));
    assert.equal(head.get('warc-refers-to'), undefined);
  });

  test('self-contained, removes the transfer coding and keeps the content coding of the payload', async (t) => {
    const archive = await makeArchive(t, { policies: { dedupBytesMin: 1 } });
    const payload = Buffer.from(contentOf('coded', 2000));
    const chunked = Buffer.concat([utf8('7d0\r\n'), payload, utf8('\r\n0\r\n\r\n')]);
    const head = (fields: string) => utf8(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n${fields}\r\n\r\n`);
    const fields = 'Content-Encoding: br\r\nTransfer-Encoding: chunked';
    for (const [index, [responseHead, body]] of [
      [head(fields), chunked],
      [head(`${fields}\r\nX-Second: yes`), chunked],
      [head('Content-Encoding: br'), payload],
    ].entries()) {
      await archive.store({
        kind: 'http',
        url: `http://a.test/${index}`,
        time: NOON + index,
        responseHead: responseHead!,
        body: body!,
      });
    }
    const { captures, report } = await exported(archive, {}, { selfContained: true });
    assert.equal(report.expanded, 2);
    for (const capture of captures.slice(1)) {
      const text = Buffer.from(capture.head).toString();
      assert.doesNotMatch(text, /transfer-encoding/i);
      assert.match(text, /content-encoding: br/i);
      assert.equal(capture.payload, captures[0]!.payload);
    }
    assert.match(Buffer.from(captures[1]!.head).toString(), /X-Second: yes/);
  });

  test('self-contained, or resolved in a stream, a response that refers to a resource keeps its HTTP head', async (t) => {
    const archive = await makeArchive(t, { policies: { dedupBytesMin: 1 } });
    const body = contentOf('of a resource', 400);
    await archive.store({ kind: 'resource', url: 'http://a.test/resource', time: NOON, mime: 'text/plain', body });
    await archive.store(page('http://a.test/page', NOON + 1000, body, ['X-Own: page', 'Content-Encoding: br']));
    const { captures, report } = await exported(archive, {}, { selfContained: true });
    assert.equal(report.expanded, 1);
    const pieces: Buffer[] = [];
    for await (const { bytes } of archive.streamWarc({ resolve: true })) pieces.push(Buffer.from(bytes));
    async function* streamed() {
      yield Buffer.concat(pieces);
    }
    for (const found of [captures, await capturesIn(readRecords(streamed(), { name: 'stream' }))]) {
      assert.deepEqual(
        found.map(({ type, url }) => `${type} ${url}`),
        ['resource http://a.test/resource', 'response http://a.test/page'],
      );
      assert.match(
        Buffer.from(found[1]!.head).toString(),
        /^HTTP\/1\.1 200 OK\r\n.*X-Own: page\r\nContent-Encoding: br\r\n/s,
      );
      assert.equal(found[1]!.record.contentType, 'application/http; msgtype=response');
      assert.equal(found[1]!.payload, createHash('sha256').update(body).digest('hex'));
    }
  });

  test('self-contained, a "not modified" stays a revisit, and the record that it refers to is included', async (t) => {
    const archive = await makeArchive(t);
    const file = join(await temporaryDirectory(t), 'crawl.warc.gz');
    const writer = await WarcFileWriter.create(file, { coding: 'gzip' });
    const http = 'application/http; msgtype=response';
    const url = 'http://a.test/';
    const [original, later] = ['<urn:uuid:1>', '<urn:uuid:2>'];
    await writer.write(
      { type: 'response', recordId: original, date: '2024-01-01T00:00:00Z', targetUri: url, contentType: http },
      Buffer.concat([utf8('HTTP/1.1 200 OK\r\nETag: "1"\r\n\r\n'), contentOf('page')]),
    );
    await writer.write(
      {
        type: 'revisit',
        recordId: later,
        date: '2024-02-01T00:00:00Z',
        targetUri: url,
        contentType: http,
        revisit: {
          profile: 'server-not-modified',
          refersTo: original,
          refersToTargetUri: url,
          refersToDate: '2024-01-01T00:00:00Z',
        },
      },
      utf8('HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n'),
    );
    await writer.finish();
    await archive.add([file]);
    const { captures, report } = await exported(archive, { from: Date.UTC(2024, 0, 15) }, { selfContained: true });
    assert.deepEqual(
      captures.map(({ type, time }) => `${type} ${new Date(time).toISOString().slice(0, 10)}`),
      ['response 2024-01-01', 'revisit 2024-02-01'],
    );
    assert.deepEqual([report.captures, report.extras, report.unresolved], [1, 1, 0]);
    const all = await exported(archive, {}, { selfContained: true });
    assert.deepEqual([all.captures.length, all.report.extras], [2, 0]);
  });

  test('adding a self-contained export to its own archive adds nothing', async (t) => {
    const archive = await threePages(t);
    const collection = await archive.collections.find('second');
    const { path } = await exported(archive, { collection }, { selfContained: true });
    const before = await archive.totals();
    const report = await archive.add([path], { collection: 'second' });
    assert.deepEqual([report.captures, report.capturesKnown], [0, 2]);
    assert.deepEqual(await archive.totals(), before);
  });

  test('refuses to overwrite a file, and leaves nothing behind when it is interrupted', async (t) => {
    const archive = await threePages(t);
    const { path } = await exported(archive, {});
    await assert.rejects(archive.exportWarc({}, path, { software: SOFTWARE }), { code: 'FILE_EXISTS' });
    await archive.exportWarc({}, path, { software: SOFTWARE, force: true });
    const stopped = join(archive.directory, 'stopped.warc.gz');
    const signal = AbortSignal.abort();
    await assert.rejects(archive.exportWarc({}, stopped, { software: SOFTWARE, signal }), { name: 'AbortError' });
    assert.deepEqual(
      readdirSync(archive.directory).filter((name) => name.startsWith('stopped')),
      [],
    );
  });

  test('writes plain and zstd files too', async (t) => {
    const archive = await threePages(t);
    for (const suffix of ['warc', 'warc.zst']) {
      const path = join(archive.directory, `out.${suffix}`);
      await archive.exportWarc({}, path, { software: SOFTWARE, selfContained: true });
      const captures = await capturesIn(readRecords(path));
      assert.deepEqual(
        captures.map(({ url }) => url),
        ['http://a.test/one', 'http://a.test/two', 'http://b.test/three'],
      );
    }
  });

  test('continues when compaction moves the records during the export', async (t) => {
    const archive = await makeArchive(t, { policies: { dedupBytesMin: 64, segmentBytesMax: 6000 } });
    for (let n = 0; n < 40; n++) {
      const body = contentOf(`content ${n % 4 === 0 ? 0 : n}`, 800);
      await archive.store(page(`http://a.test/${n % 2}/${n}`, NOON + n * 1000, body, [`X-N: ${n}`]));
    }
    let isCompacted = false;
    const path = join(archive.directory, 'out.warc.gz');
    let compaction: Promise<unknown> | undefined;
    await archive.exportWarc({ prefix: 'a.test/1/' }, path, {
      software: SOFTWARE,
      selfContained: true,
      onProgress: () => {
        if (isCompacted) return;
        isCompacted = true;
        compaction = archive.delete({ prefix: 'a.test/0/' }).then(() => archive.compact());
      },
    });
    await compaction;
    const captures = await capturesIn(readRecords(path));
    assert.deepEqual(
      captures.map(({ url }) => Number(url.split('/').pop())).sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, i) => 2 * i + 1),
    );
    for (const { url, payload } of captures) {
      const n = Number(url.split('/').pop());
      assert.equal(
        payload,
        createHash('sha256')
          .update(contentOf(`content ${n}`, 800))
          .digest('hex'),
      );
    }
  });
});

describe('exporting other formats', () => {
  test('a WACZ is valid, with index and pages', async (t) => {
    const archive = await threePages(t);
    const path = join(archive.directory, 'out.wacz');
    const report = await archive.exportWacz({}, path, {
      software: SOFTWARE,
      selfContained: true,
      title: 'Three pages',
    });
    assert.deepEqual([report.captures, report.pages, report.indexLines], [3, 3, 3]);
    const verification = await verifyWacz(path);
    assert.deepEqual(verification.findings, []);
    const wacz = await openWacz(path, { onFinding: ({ message }) => assert.fail(message) });
    const urls: string[] = [];
    const ids = new Set<string | undefined>();
    for await (const { url, id } of wacz.pages()) {
      urls.push(url);
      ids.add(id);
    }
    await wacz.close();
    assert.equal(ids.size, 3);
    assert.deepEqual(urls.sort(), ['http://a.test/one', 'http://a.test/two', 'http://b.test/three']);
  });

  test('CDXJ lines are sorted and point at the records in the segments', async (t) => {
    const archive = await threePages(t);
    const lines: string[] = [];
    for await (const line of archive.exportCdxj({})) lines.push(line);
    assert.deepEqual(lines, [...lines].sort());
    assert.equal(lines.length, 3);
    for (const line of lines) {
      const entry = parseCdxjLine(line, () => assert.fail(line))!;
      const segment = (await archive.segments()).find(({ name }) => name.endsWith(`/${entry.filename}`))!;
      const place = { segment: segment.number, offset: entry.offset!, length: entry.length! };
      assert.equal((await archive.records.open(place)).head.targetUri, entry.url);
    }
    assert.match(lines[1]!, /"mime": "warc\/revisit", "status": "200", "digest": "sha256:[0-9a-f]{64}"/);
  });

  test('a Parquet table has a row for every capture', async (t) => {
    const archive = await threePages(t);
    const path = join(archive.directory, 'out.parquet');
    const report = await archive.exportParquet({ prefix: 'a.test/' }, path);
    assert.equal(report.captures, 2);
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const result = await connection.runAndReadAll(
      `SELECT url_surtkey, url, url_host_tld, url_path, CAST(epoch_ms(fetch_time) AS DOUBLE) AS time, fetch_status, record_type, collection, CAST(payload_bytes AS DOUBLE)
       FROM read_parquet('${path}') ORDER BY fetch_time`,
    );
    const rows = result.getRows();
    connection.closeSync();
    instance.closeSync();
    const shared = contentOf('shared').length;
    assert.deepEqual(rows, [
      ['test,a)/one', 'http://a.test/one', 'test', '/one', NOON, 200, 'response', 'first', shared],
      ['test,a)/two', 'http://a.test/two', 'test', '/two', NOON + 1000, 200, 'revisit', 'second', shared],
    ]);
    await assert.rejects(archive.exportParquet({}, path), { code: 'FILE_EXISTS' });
  });

  test('a Parquet table has the address of an IPv6 host without its port', async (t) => {
    const archive = await makeArchive(t);
    for (const port of ['', ':81'])
      await archive.store(page(`http://[2001:db8::1]${port}/`, NOON, contentOf(`content${port}`)));
    const path = join(archive.directory, 'out.parquet');
    await archive.exportParquet({}, path);
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const result = await connection.runAndReadAll(`SELECT DISTINCT url_host_name FROM read_parquet('${path}')`);
    assert.deepEqual(result.getRows(), [['2001:db8::1']]);
    connection.closeSync();
    instance.closeSync();
  });
});

const CORPORA = fileURLToPath(new URL('../../../shared/corpora/', import.meta.url));

function corpusFiles(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /\.(warc|arc)(\.gz|\.zst)?$|\.wacz$/i.test(name))
    .map((name) => join(directory, name))
    .sort();
}

describe('the hand-over corpus', { skip: !existsSync(CORPORA) && 'shared corpora absent' }, () => {
  test('comes out of `add` and a self-contained export with the same captures, heads and payloads', async (t) => {
    const archive = await makeArchive(t, { policies: { dedupBytesMin: 1 } });
    const differing: string[] = [];
    const originals = new Map<string, Seen[]>();
    for (const file of corpusFiles(CORPORA)) {
      const seen: Seen[] = [];
      try {
        for await (const input of warcInputs(file, () => {})) seen.push(...(await capturesIn(input.read())));
      } catch {
        continue;
      }
      if (seen.length > 0) originals.set(file, seen);
    }
    const collections = new Map([...originals.keys()].map((file, index) => [file, `c${index}`]));
    for (const [file, collection] of collections) await archive.add([file], { collection, workers: 0 });
    let captures = 0;
    let expanded = 0;
    for (const [file, collection] of collections) {
      const { captures: delivered, report } = await exported(
        archive,
        { collection: await archive.collections.find(collection) },
        { selfContained: true, concurrentRecords: false },
      );
      expanded += report.expanded;
      const full = originals.get(file)!.filter(({ type }) => type !== 'revisit');
      const wanted = new Set(full.map(sameAs));
      const got = new Set(delivered.map(sameAs));
      captures += wanted.size;
      const distinct = new Set(originals.get(file)!.map(identityOf)).size;
      if (delivered.length - report.extras !== distinct)
        differing.push(`${file} had ${distinct} captures and delivered with ${delivered.length - report.extras}`);
      for (const key of wanted) if (!got.has(key)) differing.push(`${file} lost ${key}`);
      // An additional record can only be a revisit of the originals, now with its content, or a record that one of
      // these revisits refers to.
      const revisits = originals.get(file)!.filter(({ type }) => type === 'revisit');
      const isRevisit = (capture: Seen) =>
        revisits.some(
          ({ url, time, head }) =>
            url === capture.url &&
            time === capture.time &&
            (head.length === 0 || withoutCodings(head) === withoutCodings(capture.head)),
        );
      const extra = delivered.filter((capture) => !wanted.has(sameAs(capture)) && !isRevisit(capture));
      if (extra.length > report.extras) differing.push(`${file} gained ${extra.map(sameAs).join('; ')}`);
      for (const revisit of revisits)
        if (!delivered.some(({ url, time }) => url === revisit.url && time === revisit.time))
          differing.push(`${file} lost revisit ${revisit.url}`);
    }
    t.diagnostic(`${captures} captures of ${originals.size} files, ${expanded} expanded`);
    assert.deepEqual(differing, []);
    assert.ok(captures > 300, `${captures} captures`);
  });
});
