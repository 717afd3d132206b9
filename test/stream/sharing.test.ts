import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  type Archive,
  ScanHub,
  type StreamFormat,
  type StreamPiece,
  type StreamQuery,
  type Subscriber,
} from '../../src/archive/index.ts';
import { seededRandom } from '../../src/base/index.ts';
import {
  content,
  countReads,
  drain,
  idsOf,
  START,
  sampleArchive,
  storedBytes,
  storedIds,
  storePages,
} from './stream-sample.ts';

const warcOf = (archive: Archive): StreamFormat => ({ name: 'warc', open: (query) => archive.streamWarc(query) });
const jsonOf = (archive: Archive): StreamFormat => ({ name: 'json', open: (query) => archive.streamJson(query) });
const allOf = (archive: Archive) => ({ format: warcOf(archive), query: { wholeSegments: true } });
const MEBIBYTE = 1024 * 1024;

describe('clients of one scan', () => {
  test('64 clients at random speeds get every record in order, for at most 1.5 scans and within the memory given', async (t) => {
    const archive = await sampleArchive(t, 600);
    const wanted = await storedIds(archive);
    const scanBytes = await storedBytes(archive);
    assert.ok(scanBytes > 15 * MEBIBYTE, `${scanBytes}`);
    const sharing = new ScanHub({ bytesMax: 8 * MEBIBYTE });
    const reads = countReads(archive);
    const seed = 20_260_101;
    t.diagnostic(`seed ${seed}`);
    const random = seededRandom(seed);
    let heldBytesMax = 0;
    const clients = Array.from({ length: 64 }, async () => {
      await using stream = await archive.subscribe(sharing, allOf(archive));
      const idleness = Math.floor(random() * 8);
      const bytes = await drain(stream, async () => {
        heldBytesMax = Math.max(heldBytesMax, sharing.heldBytes);
        for (let turns = Math.floor(random() * idleness); turns > 0; turns--) await turn();
      });
      return bytes;
    });
    const bodies = await Promise.all(clients);
    const [first, ...others] = bodies;
    assert.deepEqual(await idsOf(first!), wanted);
    for (const other of others) assert.ok(other.equals(first!), 'all clients get the same bytes');
    t.diagnostic(`${(reads.bytes / scanBytes).toFixed(2)} scans, at most ${heldBytesMax} bytes held`);
    assert.ok(reads.bytes <= 1.5 * scanBytes, `${reads.bytes} read of ${scanBytes}`);
    assert.ok(heldBytesMax <= 8 * MEBIBYTE, `${heldBytesMax} held`);
    assert.equal(sharing.heldBytes, 0, 'nothing is held when all clients have disconnected');
  });

  test('a client that pauses does not delay the others, and gets a separate scan when it continues', async (t) => {
    const archive = await sampleArchive(t, 400);
    const scanBytes = await storedBytes(archive);
    const sharing = new ScanHub({ bytesMax: 3 * MEBIBYTE });
    await using slow = await archive.subscribe(sharing, allOf(archive));
    const start = await slow.next();
    const reads = countReads(archive);
    const fast = await Promise.all(
      [1, 2].map(async () => {
        await using stream = await archive.subscribe(sharing, allOf(archive));
        return await drain(stream);
      }),
    );
    assert.ok(reads.bytes <= 1.1 * scanBytes, `${reads.bytes} read of ${scanBytes}`);
    assert.ok(sharing.heldBytes <= 3 * MEBIBYTE);
    const rest = await drain(slow);
    assert.ok(Buffer.concat([...start!.pieces, rest]).equals(fast[0]!));
    assert.ok(fast[1]!.equals(fast[0]!));
    assert.ok(reads.bytes <= 2.2 * scanBytes, `${reads.bytes} read of ${scanBytes}`);
  });

  test('clients that are too far apart for the memory share the scan of the nearest client ahead', async (t) => {
    const archive = await sampleArchive(t, 600);
    const scanBytes = await storedBytes(archive);
    const sharing = new ScanHub({ bytesMax: 8 * MEBIBYTE });
    const reads = countReads(archive);
    const behind = [0, 5, 10];
    const streams = await Promise.all(behind.map(() => archive.subscribe(sharing, allOf(archive))));
    const ended = new Set<Subscriber>();
    for (let round = 0; ended.size < streams.length; round++)
      for (const [index, stream] of streams.entries())
        if (round >= behind[index]! && !(await stream.next())) ended.add(stream);
    t.diagnostic(`${(reads.bytes / scanBytes).toFixed(2)} scans for ${streams.length} clients`);
    for (const stream of streams) await stream[Symbol.asyncDispose]();
    assert.ok(reads.bytes <= 2.2 * scanBytes, `${reads.bytes} read of ${scanBytes}`);
  });

  test('a late client joins at the position of the scan, and the records that it missed are read again at the end', async (t) => {
    const archive = await sampleArchive(t, 500);
    const wanted = await storedIds(archive);
    const scanBytes = await storedBytes(archive);
    const sharing = new ScanHub({ bytesMax: 2 * MEBIBYTE });
    const reads = countReads(archive);
    await using early = await archive.subscribe(sharing, allOf(archive));
    const earlyPieces: Uint8Array[] = [];
    for (let chunks = 0; chunks < 9; chunks++) earlyPieces.push(...(await early.next())!.pieces);
    const missedBytes = Buffer.concat(earlyPieces).length;
    const earlyIds = await idsOf(Buffer.concat(earlyPieces));
    const late = await Promise.all([1, 2, 3].map(() => archive.subscribe(sharing, allOf(archive), { joins: true })));
    const bodies = await Promise.all([drain(early), ...late.map((stream) => drain(stream))]);
    for (const stream of late) await stream[Symbol.asyncDispose]();
    const lateIds = await idsOf(bodies[1]!);
    assert.deepEqual(lateIds, [...wanted.slice(earlyIds.length), ...wanted.slice(0, earlyIds.length)]);
    assert.ok(bodies[2]!.equals(bodies[1]!) && bodies[3]!.equals(bodies[1]!));
    t.diagnostic(`${(reads.bytes / scanBytes).toFixed(2)} scans for 4 clients`);
    assert.ok(reads.bytes <= 1.15 * (scanBytes + missedBytes), `${reads.bytes} read of ${scanBytes}`);
  });

  test('a client that joined can continue from its cursor before and after the end', async (t) => {
    const archive = await sampleArchive(t, 300);
    const wanted = await storedIds(archive);
    const sharing = new ScanHub();
    await using early = await archive.subscribe(sharing, allOf(archive));
    for (let chunks = 0; chunks < 5; chunks++) await early.next();
    const pieces: Uint8Array[] = [];
    let cursor: string | undefined;
    let connections = 0;
    for (let isOver = false; !isOver; connections++) {
      const query = cursor === undefined ? allOf(archive).query : { ...allOf(archive).query, cursor };
      await using late = await archive.subscribe(sharing, { ...allOf(archive), query }, { joins: true });
      if (connections === 0) assert.ok(late.join !== undefined);
      const chunk = await late.next();
      if (chunk) pieces.push(...chunk.pieces);
      isOver = chunk === undefined;
      cursor = late.cursor();
    }
    assert.ok(connections > 5);
    const ids = await idsOf(Buffer.concat(pieces));
    assert.notDeepEqual(ids, wanted);
    assert.deepEqual(ids.toSorted(), wanted.toSorted());
  });

  test('records larger than a chunk are shared, and a client that falls behind inside such a record continues inside it', async (t) => {
    const archive = await sampleArchive(t, 20);
    for (let n = 1000; n < 1003; n++)
      await archive.store({
        kind: 'http',
        url: `http://large.test/${n}`,
        time: START + n * 1000,
        responseHead: Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n'),
        body: content(n, 5_000_000),
      });
    await storePages(archive, 20, 40);
    const wanted = await storedIds(archive);
    const scanBytes = await storedBytes(archive);
    const sharing = new ScanHub({ bytesMax: MEBIBYTE });
    const reads = countReads(archive);
    await using slow = await archive.subscribe(sharing, allOf(archive));
    const pieces: Uint8Array[] = [];
    // Reads to the middle of the first large record.
    for (let chunk = await slow.next(); chunk; chunk = await slow.next()) {
      pieces.push(...chunk.pieces);
      if (chunk.cursor === undefined && Buffer.concat(pieces).length > 2_500_000) break;
    }
    await using fast = await archive.subscribe(sharing, allOf(archive));
    const whole = await drain(fast);
    pieces.push(await drain(slow));
    assert.ok(Buffer.concat(pieces).equals(whole));
    assert.deepEqual(await idsOf(whole), wanted);
    assert.ok(reads.bytes <= 2.7 * scanBytes, `${reads.bytes} read of ${scanBytes}`);
  });

  test('a read is aborted when the last client that waits for it has disconnected', async (t) => {
    const archive = await sampleArchive(t, 5);
    const sharing = new ScanHub();
    const readings: (AbortSignal | undefined)[] = [];
    /** A stream without records, which ends when it is aborted. */
    async function* nothing({ signal }: StreamQuery): AsyncGenerator<StreamPiece> {
      readings.push(signal);
      if (signal) await once(signal, 'abort');
      signal?.throwIfAborted();
      yield { bytes: Buffer.of() };
    }
    const wanted = { format: { name: 'nothing', open: nothing }, query: {} };
    const leaving = [new AbortController(), new AbortController()];
    const waiting: Promise<string>[] = [];
    for (const { signal } of leaving) {
      const stream = await archive.subscribe(sharing, wanted, { signal });
      waiting.push(
        stream.next().then(
          () => 'came to its end',
          (error: Error) => error.name,
        ),
      );
    }
    leaving[0]!.abort();
    assert.deepEqual(
      readings.map((signal) => signal?.aborted),
      [false],
    );
    leaving[1]!.abort();
    assert.equal(readings[0]?.aborted, true);
    assert.deepEqual(await Promise.all(waiting), ['AbortError', 'AbortError']);
    assert.equal(sharing.clients.size, 0);
  });

  test('filtered streams and JSON lines are also shared', async (t) => {
    const archive = await sampleArchive(t, 200);
    const selection = { prefix: 'http://host3.test/' };
    for (const format of [warcOf(archive), jsonOf(archive)]) {
      const sharing = new ScanHub();
      const query = { selection, wholeSegments: true };
      const alone = countReads(archive);
      await using first = await archive.subscribe(sharing, { format, query });
      const body = await drain(first);
      await first[Symbol.asyncDispose]();
      const together = countReads(archive);
      const bodies = await Promise.all(
        Array.from({ length: 8 }, async () => {
          await using stream = await archive.subscribe(sharing, { format, query });
          return await drain(stream);
        }),
      );
      assert.ok(body.length > 0);
      for (const other of bodies) assert.ok(other.equals(body));
      assert.ok(together.bytes <= 1.1 * (alone.bytes - together.bytes), `${together.bytes} after ${alone.bytes}`);
    }
  });

  test('the cursor advances over records that do not match, so that a continued stream does not read them again', async (t) => {
    const archive = await sampleArchive(t, 300);
    await storePages(archive, 301, 302);
    const scanBytes = await storedBytes(archive);
    const selection = { url: 'http://host0.test/page/301' };
    for (const format of [warcOf(archive), jsonOf(archive)]) {
      const sharing = new ScanHub();
      await using whole = await archive.subscribe(sharing, { format, query: { selection } });
      const places = [whole.cursor()];
      let chunk = await whole.next();
      for (; chunk?.bytes === 0; chunk = await whole.next()) places.push(whole.cursor());
      assert.ok(new Set(places).size > 2, `${places.length} places`);
      const body = Buffer.concat([...(chunk?.pieces ?? []), await drain(whole)]);
      assert.ok(body.length > 0);
      let readBefore = Number.POSITIVE_INFINITY;
      for (const cursor of places) {
        const reads = countReads(archive);
        const rest = new ScanHub();
        await using stream = await archive.subscribe(rest, { format, query: { selection, cursor } });
        assert.ok((await drain(stream)).equals(body), 'the matching records come from any cursor');
        assert.ok(reads.bytes < readBefore, `${reads.bytes} read of ${scanBytes}, ${readBefore} from the place before`);
        readBefore = reads.bytes;
      }
      assert.ok(readBefore < scanBytes / 2, `${readBefore} read of ${scanBytes}`);
    }
  });

  test('an empty stream, or one that is continued at its end, ends at once in every order and format', async (t) => {
    const archive = await sampleArchive(t, 20);
    const formats = [warcOf(archive), jsonOf(archive)];
    for (const format of formats) {
      for (const order of ['storage', 'url', 'time'] as const) {
        const sharing = new ScanHub();
        const where = `${format.name} in the order of ${order}`;
        await using nothing = await archive.subscribe(sharing, {
          format,
          query: { order, selection: { status: 500 } },
        });
        assert.equal(await nothing.next(), undefined, where);
        await using all = await archive.subscribe(sharing, { format, query: { order } });
        await drain(all);
        await using rest = await archive.subscribe(sharing, { format, query: { order, cursor: all.cursor() } });
        assert.equal(await rest.next(), undefined, `${where}, at its end`);
      }
    }
  });
});
