/** Reads every record of files that were joined from parts in several codings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { readRecords } from '../read/record-reader.ts';
import { MemberEncoder } from '../write/member-encoder.ts';
import { trainDictionary } from './zstd-trainer.ts';

type Packing = (bytes: Buffer) => Buffer;

const PACKINGS: Record<string, Packing> = { none: (bytes) => bytes, gzip: gzipSync, zstd: zstdCompressSync };

/** Three records, one per member. */
function part(name: string, packing: Packing, contentLength = (body: string) => body.length): Buffer {
  const records = [1, 2, 3].map((number) => {
    const body = `${name} ${number} `.repeat(40);
    const id = `WARC-Record-ID: <urn:x:${name}-${number}>\r\nWARC-Date: 2024-03-01T10:00:00Z`;
    const head = `WARC/1.1\r\nWARC-Type: resource\r\n${id}\r\nContent-Length: ${contentLength(body)}\r\n\r\n`;
    return packing(Buffer.from(`${head}${body}\r\n\r\n`));
  });
  return Buffer.concat(records);
}

async function* inPieces(bytes: Buffer, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

async function read(bytes: Buffer, pieceBytes = bytes.length) {
  const records: string[] = [];
  const findings: string[] = [];
  const places: [number, number | undefined][] = [];
  const onFinding = ({ code, offset }: { code: string; offset: number }) => findings.push(`${code} ${offset}`);
  for await (const record of readRecords(inPieces(bytes, pieceBytes), { onFinding })) {
    const body = (await record.bytes(10_000)) as Buffer;
    records.push(body.toString().slice(0, body.indexOf(' ', body.indexOf(' ') + 1)));
    places.push([record.head.offset, record.tail!.length]);
  }
  return { records, findings, places };
}

const names = (...parts: string[]) => parts.flatMap((name) => [1, 2, 3].map((number) => `${name} ${number}`));

for (const [first, one] of Object.entries(PACKINGS))
  for (const [second, other] of Object.entries(PACKINGS))
    test(`a joined file of ${first} and then ${second} is read to its end, and a change of coding is reported`, async () => {
      const start = part('a', one);
      const middle = part('b', other);
      const bytes = Buffer.concat([start, middle, part('c', one)]);
      for (const pieceBytes of [bytes.length, 7, 100]) {
        const { records, findings, places } = await read(bytes, pieceBytes);
        assert.deepEqual(records, names('a', 'b', 'c'));
        assert.deepEqual(findings, first === second ? [] : [`coding-changed ${places[2]![0]}`]);
        const isElsewhere = (offset: number) => offset >= start.length && offset < start.length + middle.length;
        for (const [offset, length] of places)
          assert.equal(
            length === undefined,
            first !== second && isElsewhere(offset),
            `the length of that at ${offset}`,
          );
      }
    });

test('the dictionary of a file is used again after records of another coding', async () => {
  const samples = Array.from({ length: 200 }, (_, n) =>
    Buffer.from(`a sample that is like others, of the number ${n}`),
  );
  const encoder = new MemberEncoder({ coding: 'zstd', dictionary: trainDictionary(samples, { bytesMax: 1024 }) });
  const start = Buffer.from(encoder.fileStart());
  const framed: Packing = (bytes) => Buffer.from(encoder.encode([bytes]));
  for (const other of [PACKINGS.none!, gzipSync]) {
    const bytes = Buffer.concat([start, part('a', framed), part('b', other), part('c', framed)]);
    assert.deepEqual((await read(bytes)).records, names('a', 'b', 'c'));
  }
  encoder.close();
});

test('uncompressed records with wrong lengths among members cost no other record', async () => {
  for (const wrong of [(body: string) => body.length + 7, (body: string) => body.length - 7, () => 1_000_000]) {
    const { records } = await read(
      Buffer.concat([part('a', gzipSync), part('b', PACKINGS.none!, wrong), part('c', gzipSync)]),
    );
    for (const name of names('a', 'c')) assert.ok(records.includes(name), `${name} with ${wrong}`);
  }
});

test('an incomplete uncompressed head among members costs no member', async () => {
  const cuts = ['WARC/1.0\r\nWARC-Type: warc', 'WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 70000\r\nWARC-Da'];
  for (const packing of [gzipSync, zstdCompressSync])
    for (const cut of cuts)
      for (const end of [[], [Buffer.from('\r\n\r\n')]]) {
        const { records } = await read(
          Buffer.concat([part('a', packing), Buffer.from(cut), part('b', packing), ...end, part('c', packing)]),
        );
        assert.deepEqual(records, names('a', 'b', 'c'), cut);
      }
});

test('damage in a part of another coding costs no record of the first coding', async () => {
  for (const [name, one] of Object.entries(PACKINGS))
    for (const [otherName, other] of Object.entries(PACKINGS)) {
      const middle = part('b', other);
      const damages = [Buffer.concat([middle, Buffer.from('garbage')]), Buffer.from(middle).fill(0x55, 30, 60)];
      for (const damaged of damages) {
        const { records } = await read(Buffer.concat([part('a', one), damaged, part('c', one)]));
        for (const record of names('a', 'c')) assert.ok(records.includes(record), `${record}, ${otherName} in ${name}`);
      }
    }
});

test('compressed bytes among uncompressed records are garbage when they are not a record', async () => {
  for (const packing of [gzipSync, zstdCompressSync]) {
    const garbage = packing(Buffer.from('this is no record'));
    const start = part('a', PACKINGS.none!);
    const { records, findings } = await read(Buffer.concat([start, garbage, part('b', PACKINGS.none!)]));
    assert.deepEqual(records, names('a', 'b'));
    assert.deepEqual(findings, [`garbage-skipped ${start.length}`]);
  }
});
