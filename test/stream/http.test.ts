import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { createArchive } from '../../src/archive/index.ts';
import { ArchiveStream, type StreamPart, StreamRefusedError } from '../../src/client/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { idsOf, newPlace, START, storedIds, storePages } from './stream-sample.ts';
import { type Served, serve } from './stream-server.ts';

async function served(t: TestContext, pages = 150): Promise<Served & { directory: string }> {
  const directory = newPlace(t);
  await createArchive(directory, { policies: { segmentBytesMax: 2_000_000 } });
  const one = await serve(t, directory);
  await storePages(one.archive, 0, pages);
  return { ...one, directory };
}

type Reply = {
  readonly status: number;
  readonly fields: IncomingMessage['headers'];
  readonly body: Buffer;
  readonly trailers: NodeJS.Dict<string>;
};

async function get({ server }: Served, search: string, method = 'GET'): Promise<Reply> {
  const asked = request(`${server.uiAddress}/api/stream${search}`, { method }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return {
    status: response.statusCode!,
    fields: response.headers,
    body: Buffer.concat(pieces),
    trailers: response.trailers,
  };
}

function textOf(value: string | string[] | undefined): string {
  assert.ok(typeof value === 'string');
  return value;
}

type Line = {
  readonly type: string;
  readonly id?: string;
  readonly cursor?: string;
  readonly end?: boolean;
  readonly page?: { title: string; text?: string; links?: { url: string }[] };
};

const linesOf = (body: Buffer) =>
  body
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

describe('GET /api/stream', () => {
  test('sends the whole archive as one WARC file, and the cursor of a later stream in the trailer', async (t) => {
    const one = await served(t);
    const wanted = await storedIds(one.archive);
    const { status, fields, body, trailers } = await get(one, '');
    assert.equal(status, 200);
    assert.equal(fields['content-type'], 'application/warc');
    assert.deepEqual(await idsOf(body), wanted);
    assert.equal(trailers['x-pinakes-end'], 'yes');
    const rest = await get(one, `?cursor=${trailers['x-pinakes-cursor']}`);
    assert.equal(rest.body.length, 0);
    const again = await get(one, `?cursor=${fields['x-pinakes-cursor']}`);
    assert.ok(again.body.equals(body));
    assert.equal(again.fields['x-pinakes-deleted'], undefined);
  });

  test('sends the same bytes in limited parts, each with the cursor of the next', async (t) => {
    const one = await served(t);
    const whole = (await get(one, '')).body;
    const parts: Buffer[] = [];
    for (let search = '?limit=700000', isEnd = false; !isEnd; ) {
      const { body, trailers } = await get(one, search);
      parts.push(body);
      isEnd = trailers['x-pinakes-end'] === 'yes';
      search = `?limit=700000&cursor=${trailers['x-pinakes-cursor']}`;
    }
    assert.ok(parts.length > 2, `${parts.length}`);
    assert.ok(Buffer.concat(parts).equals(whole));
    for (const part of parts) await idsOf(part);
  });

  test('a cursor continues a selection by status, and several statuses can be selected', async (t) => {
    const one = await served(t, 20);
    const cursor = (await one.archive.stream({ selection: { status: 200 } })).cursor();
    const whole = await get(one, '?status=200');
    const resumed = await get(one, `?status=200&cursor=${cursor}`);
    assert.deepEqual([resumed.status, resumed.body.length], [200, whole.body.length]);
    assert.deepEqual(await idsOf((await get(one, '?status=2xx,404')).body), await idsOf(whole.body));
  });

  test('I8: a cursor is valid after a restart of the server and a compaction', async (t) => {
    const one = await served(t);
    const wanted = await storedIds(one.archive);
    const { body, trailers } = await get(one, '?limit=1500000');
    const cursor = textOf(trailers['x-pinakes-cursor']);
    await one.stop();
    const later = await serve(t, one.directory);
    await storePages(later.archive, 500, 530);
    await later.archive.delete({ prefix: 'http://host2.test/' });
    await later.archive.compact();
    const left = new Set(await storedIds(later.archive, 'warcinfo'));
    const begun = await idsOf(body);
    const rest = await get(later, `?cursor=${cursor}`);
    assert.equal(rest.fields['x-pinakes-deleted'], 'possible');
    // A record that compaction rewrote has a new id, and a field with its old id.
    const restIds = await previousIdsOf(rest.body);
    assert.deepEqual(
      restIds.map(({ before }) => before),
      wanted.slice(begun.length).filter((id) => restIds.some(({ before }) => before === id)),
    );
    const kept = wanted.slice(begun.length).filter((id) => left.has(id));
    for (const id of kept)
      assert.ok(
        restIds.some(({ now }) => now === id),
        `${id} is missing`,
      );
    assert.ok(kept.length > 50);
  });

  test('a cursor of an earlier version is refused with 410, and a damaged one with 400', async (t) => {
    const one = await served(t, 20);
    const old = Buffer.from(JSON.stringify([1, 'abcdefgh', 'epoch', 3, 2, [[2, 100]], 1, 276, 0])).toString(
      'base64url',
    );
    const expired = await get(one, `?cursor=${old}`);
    assert.equal(expired.status, 410);
    assert.match(expired.body.toString(), /CURSOR_EXPIRED/);
    assert.equal((await get(one, '?cursor=nonsense')).status, 400);
    assert.equal((await get(one, '?cursor=a~b~c')).status, 400);
    assert.equal((await get(one, '?order=sideways')).status, 400);
    assert.equal((await get(one, '?collection=nowhere')).status, 404);
    assert.equal((await get(one, '', 'HEAD')).body.length, 0);
  });

  test('sends every record as a JSON line, with cursors between the lines', async (t) => {
    const one = await served(t);
    const wanted = await storedIds(one.archive);
    const lines = linesOf((await get(one, '?format=jsonl')).body);
    assert.deepEqual(
      lines.flatMap(({ type, id }) => (type === 'cursor' ? [] : [id])),
      wanted,
    );
    const cursors = lines.filter(({ type }) => type === 'cursor');
    assert.ok(cursors.length > 3);
    assert.deepEqual(
      cursors.map(({ end }) => end),
      cursors.map((_, at) => at === cursors.length - 1),
    );
    const middle = lines.indexOf(cursors[1]!);
    const rest = linesOf((await get(one, `?format=jsonl&cursor=${cursors[1]!.cursor}`)).body);
    const ids = [...lines.slice(0, middle), ...rest].flatMap(({ type, id }) => (type === 'cursor' ? [] : [id]));
    assert.deepEqual(ids, wanted);
  });

  test('sends a selection or the matches of a query, also in other orders', async (t) => {
    const one = await served(t);
    const ofHost = linesOf((await get(one, '?format=jsonl&prefix=http://host3.test/&order=time')).body);
    assert.equal(ofHost.filter(({ type }) => type !== 'cursor').length, 21);
    const revisits = await get(one, `?query=${encodeURIComponent('kind:revisit')}`);
    assert.equal((await idsOf(revisits.body)).length, 30);
    assert.equal((await get(one, '?query=kind')).status, 400);
  });

  test('an empty selection is an empty body, or one line with a cursor, in every order and with a limit', async (t) => {
    const one = await served(t, 20);
    const nothing = `query=${encodeURIComponent('status:500')}`;
    for (const order of ['storage', 'url', 'time']) {
      for (const limit of ['', '&limit=1']) {
        const warc = await get(one, `?${nothing}&order=${order}${limit}`);
        assert.equal(warc.body.length, 0);
        assert.equal(warc.trailers['x-pinakes-end'], 'yes');
        const { body, trailers } = await get(one, `?format=jsonl&${nothing}&order=${order}${limit}`);
        assert.deepEqual(linesOf(body), [{ type: 'cursor', cursor: trailers['x-pinakes-cursor'], end: true }]);
        const again = await get(one, `?format=jsonl&${nothing}&order=${order}&cursor=${trailers['x-pinakes-cursor']}`);
        assert.ok(again.body.equals(body));
      }
    }
  });

  test('with resolve, revisits are full records with the payload they refer to', async (t) => {
    const one = await served(t, 30);
    const { body } = await get(one, '?resolve=true');
    let revisits = 0;
    const payloads = new Map<string, string>();
    async function* whole() {
      yield body;
    }
    for await (const record of readRecords(whole(), { name: 'stream' })) {
      const pieces: Buffer[] = [];
      for await (const piece of record.body()) pieces.push(Buffer.from(piece));
      if (record.head.type === 'revisit') revisits++;
      if (record.head.type !== 'response') continue;
      const block = Buffer.concat(pieces);
      payloads.set(record.head.targetUri!, block.subarray(block.indexOf('\r\n\r\n') + 4).toString('base64'));
    }
    assert.equal(revisits, 0);
    assert.equal(payloads.size, 30);
    assert.equal(payloads.get('http://host4.test/page/4'), payloads.get('http://host0.test/page/0'));
    assert.ok((await get(one, '?resolve=true')).body.equals(body), 'the same again');
  });

  test('JSON lines have text and links of pages when requested', async (t) => {
    const one = await served(t, 1);
    const html = '<!doctype html><title>Callimachus</title><p>The tables of the library.</p><a href="/next">next</a>';
    await one.archive.store({
      kind: 'http',
      url: 'http://library.test/',
      time: START,
      responseHead: Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n'),
      body: Buffer.from(html),
    });
    const lines = linesOf((await get(one, '?format=jsonl&text=true&links=true&mime=text/html')).body);
    assert.equal(lines[0]!.page?.title, 'Callimachus');
    assert.match(lines[0]!.page?.text ?? '', /tables of the library/);
    assert.deepEqual(
      lines[0]!.page?.links?.map(({ url }) => url),
      ['http://library.test/next'],
    );
  });

  test('sends Parquet tables, with the cursor of the next table in a header field', async (t) => {
    const one = await served(t, 40);
    const wanted = await storedIds(one.archive);
    const ids: string[] = [];
    let search = '?format=parquet&rows=30';
    for (let chunk = 0; ; chunk++) {
      const { status, body, fields } = await get(one, search);
      assert.equal(status, 200, body.toString());
      const path = join(one.directory, `chunk-${chunk}.parquet`);
      writeFileSync(path, body);
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      const rows = await connection.runAndReadAll(`SELECT record_id FROM read_parquet('${path}')`);
      ids.push(...rows.getRows().map(([id]) => String(id)));
      connection.closeSync();
      if (fields['x-pinakes-end'] === 'yes') break;
      search = `?format=parquet&rows=30&cursor=${fields['x-pinakes-cursor']}`;
    }
    assert.deepEqual(ids, wanted);
  });

  test('a client that stops reading does not block others, and gets all records when it continues', async (t) => {
    const one = await served(t, 400);
    const asked = request(`${one.server.uiAddress}/api/stream`).end();
    const [slow] = (await once(asked, 'response')) as [IncomingMessage];
    slow.pause();
    const bodies = await Promise.all(Array.from({ length: 6 }, () => get(one, '')));
    const pieces: Buffer[] = [];
    for await (const piece of slow) pieces.push(piece as Buffer);
    for (const { body } of bodies) assert.ok(body.equals(Buffer.concat(pieces)));
    assert.deepEqual(await idsOf(Buffer.concat(pieces)), await storedIds(one.archive));
  });
});

/**
 * Original ids of records, before compaction rewrote them. Warcinfo records do not count: rewritten segments have new
 * ones.
 */
async function previousIdsOf(bytes: Buffer): Promise<{ now: string; before: string }[]> {
  const found: { now: string; before: string }[] = [];
  async function* whole() {
    yield bytes;
  }
  for await (const { head } of readRecords(whole(), { name: 'stream' }))
    if (head.type !== 'warcinfo')
      found.push({ now: head.recordId!, before: head.get('warc-previous-record-id') ?? head.recordId! });
  return found;
}

describe('the client', () => {
  async function collect(stream: AsyncIterable<StreamPart>, parts: Uint8Array[], most = Number.POSITIVE_INFINITY) {
    if (most === 0) return;
    let taken = 0;
    for await (const { bytes } of stream) {
      parts.push(bytes);
      if (++taken >= most) return;
    }
  }

  test('pauses and continues with its cursor, in the same stream or a new one', async (t) => {
    const one = await served(t);
    const whole = (await get(one, '')).body;
    const parts: Uint8Array[] = [];
    const first = new ArchiveStream(one.server.uiAddress);
    await collect(first, parts, 2);
    assert.ok(first.cursor !== undefined);
    await storePages(one.archive, 700, 720);
    const second = new ArchiveStream(one.server.uiAddress, {}, { cursor: first.cursor });
    await collect(second, parts, 1);
    await collect(second, parts);
    assert.ok(Buffer.concat(parts).equals(whole));
  });

  test('continues by itself after a restart of the server', async (t) => {
    const one = await served(t, 400);
    const whole = (await get(one, '')).body;
    const parts: Uint8Array[] = [];
    const stream = new ArchiveStream(one.server.uiAddress, {}, { attemptsMax: 30 });
    const port = Number(new URL(one.server.uiAddress).port);
    for await (const { bytes } of stream) {
      parts.push(bytes);
      if (parts.length !== 3) continue;
      await one.server.close({ force: AbortSignal.abort() });
      await one.stop();
      await serve(t, one.directory, port);
    }
    assert.ok(Buffer.concat(parts).equals(whole));
  });

  test('reports the code of a refusal', async (t) => {
    const one = await served(t, 5);
    const stream = new ArchiveStream(one.server.uiAddress, { query: 'colour:blue' });
    await assert.rejects(collect(stream, []), (error: unknown) => {
      assert.ok(error instanceof StreamRefusedError);
      assert.equal(error.code, 'BAD_QUERY');
      return true;
    });
  });
});
