import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type Archive, createArchive, type StreamQuery } from '../../src/archive/index.ts';
import { type Random, seededIds, seededRandom } from '../../src/base/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { catalogOf, openWithParts } from './opened-parts.ts';

const START = Date.UTC(2024, 0, 1);
/** Two sequences of random events for each order. `PINAKES_SEED=n` runs another one. */
const SEEDS = process.env.PINAKES_SEED ? [Number(process.env.PINAKES_SEED)] : [1, 2];
const places: string[] = [];

after(async () => {
  for (const place of places) await rm(place, { recursive: true, force: true });
});

async function newPlace(): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'pinakes-stream-'));
  places.push(place);
  return place;
}

let opened = 0;

function open(directory: string): Promise<Archive> {
  const newId = seededIds(seededRandom(7 + opened++));
  return openWithParts(directory, { clock: () => START + opened, newId });
}

async function newArchive(segmentBytesMax = 20_000): Promise<{ directory: string; archive: Archive }> {
  const directory = await newPlace();
  await createArchive(directory, { policies: { segmentBytesMax, dedupBytesMin: 64 } });
  return { directory, archive: await open(directory) };
}

function content(number: number): Buffer {
  return Buffer.from(`content ${number} ${createHash('sha512').update(String(number)).digest('hex').repeat(3)}`);
}

/** Capture `n`, with a request. Every third content is shared. */
async function store(archive: Archive, from: number, to: number, collection = 'default'): Promise<void> {
  const stores = Array.from({ length: to - from }, (_, i) => {
    const n = from + i;
    return archive.store(
      {
        kind: 'http',
        url: `http://host${n % 5}.test/page/${n}`,
        time: START + n * 1000,
        responseHead: Buffer.from(
          `HTTP/1.1 ${n % 10 === 9 ? '404 Not Found' : '200 OK'}\r\nContent-Type: ${n % 2 ? 'text/html' : 'text/plain'}\r\nX-N: ${n}\r\n\r\n`,
        ),
        body: content(n % 3 === 0 ? n % 12 : n),
        request: Buffer.from(`GET /page/${n} HTTP/1.1\r\nX-N: ${n}\r\n\r\n`),
      },
      { collection },
    );
  });
  await Promise.all(stores);
}

function numberOf(record: { http: { get(name: string): string | undefined } | undefined; head: { type: string } }) {
  const n = record.http?.get('x-n');
  return n === undefined ? record.head.type : `${record.head.type === 'request' ? 'request' : 'capture'} ${n}`;
}

/** What a stream contains, by the numbers of captures and requests, without warcinfo records. */
async function names(archive: Archive, query: StreamQuery = {}): Promise<string[]> {
  const found: string[] = [];
  for await (const record of await archive.stream(query)) {
    if (record.head.type !== 'warcinfo') found.push(numberOf(record));
  }
  return found;
}

async function take(archive: Archive, query: StreamQuery, count: number): Promise<{ names: string[]; cursor: string }> {
  const stream = await archive.stream(query);
  const found: string[] = [];
  if (count > 0) {
    for await (const record of stream) {
      found.push(numberOf(record));
      if (found.length >= count) break;
    }
  }
  return { names: found.filter((name) => name !== 'warcinfo'), cursor: stream.cursor() };
}

function range(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => [`capture ${from + i}`, `request ${from + i}`]).flat();
}

for (const order of ['url', 'time'] as const) {
  test(`in the order of ${order}, the catalog is asked once for captures of one URL and time, however many there are`, async () => {
    const { archive } = await newArchive();
    const count = 300;
    for (let n = 0; n < count; n++)
      await archive.store({
        kind: 'http',
        url: 'http://host.test/often',
        time: START,
        responseHead: Buffer.from(`HTTP/1.1 200 OK\r\nX-N: ${n}\r\n\r\n`),
        body: content(n),
      });
    await store(archive, 0, 10);
    let answered = 0;
    const catalog = catalogOf(archive);
    const findCaptures = catalog.findCaptures.bind(catalog);
    catalog.findCaptures = async (questions) => {
      const answers = await findCaptures(questions);
      for (const captures of answers) answered += captures.length;
      return answers;
    };
    const found = await names(archive, { order });
    assert.equal(found.length, count + 10);
    assert.equal(new Set(found).size, count);
    assert.equal(answered, count + 10);
    await archive.close();
  });
}

describe('a stream in storage order', () => {
  test('delivers every record once, requests beside their captures', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 100);
    assert.deepEqual(await names(archive), range(0, 100));
    assert.ok((await archive.segments()).length > 2);
    await archive.close();
  });

  test('I8: a stream does not contain records that were stored after its first record was delivered', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 30);
    const found: string[] = [];
    for await (const record of await archive.stream()) {
      if (found.length === 0) {
        await store(archive, 30, 60);
        await store(archive, 60, 70, 'another');
      }
      found.push(numberOf(record));
    }
    assert.deepEqual(
      found.filter((name) => name !== 'warcinfo'),
      range(0, 30),
    );
    await archive.close();
  });

  test('I8: continues with a cursor in a later process, after appends', async () => {
    const { directory, archive } = await newArchive();
    await store(archive, 0, 50);
    const first = await take(archive, {}, 37);
    await archive.close();
    const later = await open(directory);
    await store(later, 50, 90);
    const second = await names(later, { cursor: first.cursor });
    assert.deepEqual([...first.names, ...second], range(0, 50));
    await later.close();
  });

  test('a cursor before the first record continues with the whole snapshot', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 10);
    const { cursor } = await take(archive, {}, 0);
    await store(archive, 10, 20);
    assert.deepEqual(await names(archive, { cursor }), range(0, 10));
    await archive.close();
  });

  test('a cursor of a finished stream continues with an empty stream', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 10);
    const stream = await archive.stream();
    for await (const _ of stream);
    await store(archive, 10, 20);
    assert.deepEqual(await names(archive, { cursor: stream.cursor() }), []);
    await archive.close();
  });

  test('deleted captures and their requests are not delivered, before compaction and after', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 40);
    await archive.delete({ prefix: 'host3.test/' });
    const left = range(0, 40).filter((name) => Number(name.split(' ')[1]) % 5 !== 3);
    assert.deepEqual(await names(archive), left);
    await archive.compact();
    assert.deepEqual((await names(archive)).sort(), left.sort());
    await archive.close();
  });

  test('a stream delivers each record once although compaction runs meanwhile', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 100);
    const found: string[] = [];
    for await (const record of await archive.stream()) {
      found.push(numberOf(record));
      if (found.length === 25) {
        await archive.delete({ prefix: 'host1.test/' });
        await archive.compact();
      }
    }
    const delivered = found.filter((name) => name !== 'warcinfo');
    const expected = range(0, 100).filter((name, index) => index < 24 || Number(name.split(' ')[1]) % 5 !== 1);
    assert.deepEqual(delivered, expected);
    await archive.close();
  });

  test('contains only selected records', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 30, 'first');
    await store(archive, 30, 60, 'second');
    const collection = await archive.collections.find('second');
    assert.deepEqual(await names(archive, { selection: { collection } }), range(30, 60));
    const host = await names(archive, { selection: { prefix: '*.host2.test' } });
    assert.deepEqual(
      host,
      range(0, 60).filter((name) => Number(name.split(' ')[1]) % 5 === 2),
    );
    const missing = await names(archive, { selection: { status: 404 } });
    assert.deepEqual(
      missing,
      [9, 19, 29, 39, 49, 59].map((n) => `capture ${n}`),
    );
    const html = await names(archive, { selection: { mime: 'text/html', from: START + 50_000 } });
    assert.deepEqual(
      html,
      [51, 53, 55, 57, 59].map((n) => `capture ${n}`),
    );
    const requests = await names(archive, { selection: { types: ['request'], to: START + 2000 } });
    assert.deepEqual(requests, ['request 0', 'request 1', 'request 2']);
    const url = 'http://host2.test/page/7';
    for (const order of ['storage', 'url', 'time'] as const) {
      const types = ['response', 'revisit'];
      const both = await names(archive, { order, selection: { url, prefix: '*.host2.test', types } });
      assert.deepEqual(both, ['capture 7'], order);
      const neither = await names(archive, { order, selection: { url, prefix: 'http://host3.test/' } });
      assert.deepEqual(neither, [], order);
    }
    await archive.close();
  });

  test('reads payloads, and gives revisits unchanged', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 13);
    const payloads = new Map<string, string>();
    for await (const record of await archive.stream({ selection: { types: ['response', 'revisit'] } })) {
      const parts: Buffer[] = [];
      for await (const piece of record.payload()) parts.push(Buffer.from(piece));
      payloads.set(`${record.head.type} ${record.http!.get('x-n')}`, Buffer.concat(parts).toString());
    }
    assert.equal(payloads.get('response 1'), content(1).toString());
    assert.equal(payloads.get('revisit 12'), '');
    await archive.close();
  });
});

describe('a cursor', () => {
  test('of another selection or order is refused', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 5);
    const { cursor } = await take(archive, {}, 2);
    for (const query of [{ order: 'url' as const }, { selection: { status: 200 } }])
      await assert.rejects(archive.stream({ ...query, cursor }), { code: 'BAD_ARGUMENT' });
    await archive.close();
  });

  test('that is mangled is refused', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 5);
    const { cursor } = await take(archive, {}, 2);
    for (const text of ['', 'x', cursor.slice(0, -7), Buffer.from('[1,2]').toString('base64url')])
      await assert.rejects(archive.stream({ cursor: text }), { code: 'BAD_ARGUMENT' }, text);
    await archive.close();
  });

  for (const order of ['storage', 'url', 'time'] as const)
    test(`I8: from before rebuilds and compactions continues in the order of ${order}, and each record comes exactly once`, async () => {
      const { directory, archive } = await newArchive(5_000);
      await store(archive, 0, 60);
      await archive.delete({ prefix: 'http://host1.test/page/2' });
      await archive.compact();
      const all = await names(archive, { order });
      const parts: string[][] = [];
      let cursor: string | undefined;
      const go = async (from: Archive, count: number) => {
        const part = await take(from, { order, cursor }, count);
        parts.push(part.names);
        ({ cursor } = part);
      };
      await go(archive, 20);
      await archive.rebuild();
      await go(archive, 13);
      await store(archive, 60, 90);
      await archive.delete({ prefix: 'http://host3.test/' });
      await archive.compact();
      await go(archive, 5);
      await archive.rebuild();
      await archive.compact();
      await archive.close();
      const again = await open(directory);
      await again.rebuild();
      await go(again, 1000);
      const delivered = parts.flat();
      assert.equal(new Set(delivered).size, delivered.length, 'nothing comes twice');
      const left = new Set(await names(again, { order }));
      const before = new Set(parts.slice(0, 2).flat());
      assert.deepEqual(
        delivered,
        all.filter((name) => before.has(name) || left.has(name)),
      );
      await again.close();
    });

  test('I8: continues when the archive is rebuilt while the stream is opened or read', async () => {
    for (const order of ['storage', 'url', 'time'] as const) {
      const { archive } = await newArchive(5_000);
      await store(archive, 0, 20, 'b');
      await store(archive, 20, 40, 'a');
      const all = await names(archive, { order });
      const found: string[] = [];
      let count = 0;
      for await (const record of await archive.stream({ order })) {
        if (record.head.type !== 'warcinfo') found.push(numberOf(record));
        if (++count % 7 === 0) await archive.rebuild();
      }
      assert.deepEqual(found, all, order);
      const [stream] = await Promise.all([archive.stream({ order }), archive.rebuild()]);
      const later: string[] = [];
      for await (const record of stream) if (record.head.type !== 'warcinfo') later.push(numberOf(record));
      assert.deepEqual(later, all, order);
      await archive.close();
    }
  });

  test('waits for a rebuild to be complete, and is not answered with what a failed one left', async () => {
    const { directory, archive } = await newArchive(5_000);
    await store(archive, 0, 20, 'b');
    await store(archive, 20, 40, 'a');
    const all = await names(archive);
    const { cursor, names: begun } = await take(archive, {}, 10);
    const ending = new AbortController();
    const rebuilding = archive.rebuild({ signal: ending.signal, onProgress: () => ending.abort() });
    await assert.rejects(rebuilding, { name: 'AbortError' });
    await assert.rejects(names(archive, { cursor }), { code: 'CATALOG_DAMAGED' });
    await assert.rejects(archive.stream(), { code: 'CATALOG_DAMAGED' });
    await archive.close();
    const again = await open(directory);
    assert.deepEqual([...begun, ...(await names(again, { cursor }))], all);
    await again.close();
  });

  test('I8: a client that follows the archive gets only what is new, also after a rebuild', async () => {
    const { archive } = await newArchive(5_000);
    await store(archive, 0, 20, 'b');
    const { cursor: since } = await take(archive, {}, 100);
    await archive.rebuild();
    await store(archive, 20, 40, 'a');
    await archive.rebuild();
    assert.deepEqual((await names(archive, { since })).sort(), range(20, 40).sort());
    await archive.close();
  });

  test('I8: a named snapshot stays as it is through stores, compactions and rebuilds', async () => {
    const { directory, archive } = await newArchive(5_000);
    await store(archive, 0, 30);
    await archive.createSnapshot('then');
    const then = await names(archive, { snapshot: 'then' });
    await store(archive, 30, 60);
    await archive.compact();
    await archive.rebuild();
    assert.deepEqual(await names(archive, { snapshot: 'then' }), then);
    const { cursor, names: begun } = await take(archive, {}, 21);
    const rest = await names(archive, { cursor });
    await store(archive, 60, 70);
    await archive.close();
    // Without the catalog, the sequence numbers are read from the segments.
    await rm(join(directory, 'catalog'), { recursive: true });
    const again = await open(directory);
    assert.deepEqual(await names(again, { snapshot: 'then' }), then);
    assert.deepEqual(await names(again, { cursor }), rest);
    assert.equal(new Set([...begun, ...rest]).size, 120);
    await again.close();
  });
});

describe('a stream in the order of the catalog', () => {
  test('by URL gives captures in the order of their keys', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 40);
    const found = await names(archive, { order: 'url' });
    const expected = Array.from({ length: 40 }, (_, n) => n).sort((a, b) => {
      const [one, other] = [a, b].map((n) => `test,host${n % 5})/page/${n}`);
      return one! < other! ? -1 : 1;
    });
    assert.deepEqual(
      found,
      expected.map((n) => `capture ${n}`),
    );
    await archive.close();
  });

  test('by time gives captures in the order of their times', async () => {
    const { archive } = await newArchive();
    await store(archive, 20, 40);
    await store(archive, 0, 20, 'earlier');
    const found = await names(archive, { order: 'time' });
    assert.deepEqual(
      found,
      Array.from({ length: 40 }, (_, n) => `capture ${n}`),
    );
    await archive.close();
  });
});

/**
 * Streams in steps, with every kind of change in between. Checks that each record of the start is delivered exactly
 * once.
 */
async function interruptedStream(random: Random, order: 'storage' | 'url' | 'time'): Promise<void> {
  const { directory, archive: first } = await newArchive(8000);
  let archive = first;
  await store(archive, 0, 60, 'one');
  await store(archive, 60, 120, 'two');
  // The same captures again in another collection, with the same URL and time.
  await store(archive, 0, 40, 'two');
  const atStart = await names(archive, { order });
  const deleted = new Set<string>();
  const found: string[] = [];
  let cursor: string | undefined;
  let next = 200;
  for (let isOver = false; !isOver; ) {
    const step = Math.floor(random() * 30);
    const part = await take(archive, { order, cursor }, step);
    isOver = step > 0 && part.names.length === 0 && part.cursor === cursor;
    found.push(...part.names);
    cursor = part.cursor;
    const choice = random();
    if (choice < 0.3) await store(archive, next, (next += 10), random() < 0.5 ? 'one' : 'two');
    if (choice >= 0.3 && choice < 0.6) {
      const n = Math.floor(random() * 120);
      await archive.delete({ url: `http://host${n % 5}.test/page/${n}` });
      deleted.add(`capture ${n}`).add(`request ${n}`);
    }
    if (choice > 0.5 && choice < 0.8) await archive.compact();
    if (choice > 0.75) {
      await archive.close();
      archive = await open(directory);
    }
  }
  const tally = (list: readonly string[]) => {
    const counts = new Map<string, number>();
    for (const name of list) counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  };
  const expected = tally(atStart);
  const delivered = tally(found);
  for (const [name, count] of delivered)
    assert.ok(count <= (expected.get(name) ?? 0), `${name} delivered ${count} times`);
  for (const [name, count] of expected)
    if (!deleted.has(name)) assert.equal(delivered.get(name), count, `${name} delivered ${delivered.get(name)} times`);
  await archive.close();
}

describe('I8: each record of the snapshot exactly once, across pauses, restarts, appends, deletions and compactions', () => {
  for (const order of ['storage', 'url', 'time'] as const) {
    for (const seed of SEEDS) {
      test(`in the order of ${order}, seed ${seed}`, async () => {
        await interruptedStream(seededRandom(seed), order);
      });
    }
  }
});

async function* once(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield Buffer.concat(parts);
}

async function firstNames(parts: readonly Uint8Array[]): Promise<string[]> {
  const types: string[] = [];
  for await (const { head } of readRecords(once(parts))) if (head.type !== 'warcinfo') types.push(head.type);
  return types;
}

describe('a stream as WARC', () => {
  test('is a WARC file with the records byte for byte as stored', async () => {
    const { directory, archive } = await newArchive();
    await store(archive, 0, 60);
    const path = join(directory, 'out.warc.gz');
    const parts: Buffer[] = [];
    for await (const { bytes } of archive.streamWarc()) parts.push(Buffer.from(bytes));
    await writeFile(path, Buffer.concat(parts));
    const total = (await archive.segments()).reduce((sum, segment) => sum + segment.bytes, 0);
    assert.equal(Buffer.concat(parts).length, total);
    let responses = 0;
    for await (const record of readRecords(path)) if (record.head.type !== 'request') responses++;
    assert.equal(responses, 60 + (await archive.segments()).length);
    await archive.close();
  });

  test('the bytes up to a cursor and the bytes that follow it are together the whole file', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 60);
    const whole: Buffer[] = [];
    for await (const { bytes } of archive.streamWarc()) whole.push(Buffer.from(bytes));
    const parts: Buffer[] = [];
    let cursor: string | undefined;
    for await (const piece of archive.streamWarc()) {
      parts.push(Buffer.from(piece.bytes));
      cursor = piece.cursor;
      if (cursor && piece.bytes.length > 0) break;
    }
    assert.ok(cursor);
    for await (const { bytes } of archive.streamWarc({ cursor })) parts.push(Buffer.from(bytes));
    assert.ok(Buffer.concat(parts).equals(Buffer.concat(whole)));
    await archive.close();
  });

  test('of whole segments has the same bytes, and its cursors continue at the end of a segment', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 100);
    const whole: Buffer[] = [];
    for await (const { bytes } of archive.streamWarc()) whole.push(Buffer.from(bytes));
    const parts: Buffer[] = [];
    for await (const { bytes } of archive.streamWarc({ wholeSegments: true })) parts.push(Buffer.from(bytes));
    assert.ok(Buffer.concat(parts).equals(Buffer.concat(whole)));
    const received: Buffer[] = [];
    let cursor: string | undefined;
    for await (const piece of archive.streamWarc({ wholeSegments: true })) {
      received.push(Buffer.from(piece.bytes));
      cursor = piece.cursor;
      if (cursor && piece.bytes.length > 0) break;
    }
    await archive.delete({ prefix: 'host1.test/' });
    for (let round = 0; round < 2; round++) {
      const rest: Buffer[] = [];
      for await (const { bytes } of archive.streamWarc({ wholeSegments: true, cursor })) rest.push(Buffer.from(bytes));
      const found: string[] = [];
      for await (const record of readRecords(once([...received, ...rest]))) {
        const text = Buffer.from(await record.bytes(1e6)).toString();
        const n = /X-N: (\d+)/.exec(text)?.[1];
        if (n !== undefined) found.push(`${record.head.type === 'request' ? 'request' : 'capture'} ${n}`);
      }
      const first = (await firstNames(received)).length;
      const expected = range(0, 100).filter((name, index) => index < first || Number(name.split(' ')[1]) % 5 !== 1);
      assert.deepEqual(found, expected);
      await archive.compact();
    }
    await archive.close();
  });

  test('JSON lines describe every record and carry a cursor', async () => {
    const { archive } = await newArchive();
    await store(archive, 0, 10, 'c');
    const lines: Record<string, unknown>[] = [];
    const selection = { types: ['response'] };
    let cursor: string | undefined;
    const take = (bytes: Uint8Array) => {
      if (bytes.length > 0) lines.push(JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>);
    };
    for await (const piece of archive.streamJson({ selection })) {
      take(piece.bytes);
      cursor = piece.cursor;
      if (lines.length === 4) break;
    }
    for await (const { bytes } of archive.streamJson({ selection, cursor })) take(bytes);
    assert.deepEqual(
      lines.map((line) => line.url),
      Array.from({ length: 10 }, (_, n) => `http://host${n % 5}.test/page/${n}`),
    );
    const { type, status, mime, collection, payloadBytes } = lines[1]!;
    assert.deepEqual(
      [type, status, mime, collection, payloadBytes],
      ['response', 200, 'text/html', 'c', content(1).length],
    );
    await archive.close();
  });
});
