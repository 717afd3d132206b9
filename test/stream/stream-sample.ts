/**
 * A sample archive of several mebibytes for streams, a parser for the bytes of a stream, and a count of the bytes read.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Archive, createArchive, type Subscriber } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { openWithParts, volumeOf } from '../archive/opened-parts.ts';

export const START = Date.UTC(2024, 0, 1);
let opened = 0;

export function newPlace(t: TestContext): string {
  const place = mkdtempSync(join(tmpdir(), 'pinakes-shared-'));
  // Hooks that run later close files in this directory, and may still write to it.
  t.after(() => rm(place, { recursive: true, force: true, maxRetries: 10 }));
  return place;
}

export async function openAt(directory: string): Promise<Archive> {
  const newId = seededIds(seededRandom(100 + opened++));
  return openWithParts(directory, { clock: () => START + opened, newId });
}

export async function sampleArchive(t: TestContext, pages: number, segmentBytesMax = 4_000_000): Promise<Archive> {
  const directory = newPlace(t);
  await createArchive(directory, { policies: { segmentBytesMax } });
  const archive = await openAt(directory);
  t.after(() => archive.close().catch(() => {}));
  await storePages(archive, 0, pages);
  return archive;
}

/** Bytes that do not compress, different for each number. */
export function content(number: number, bytes: number): Buffer {
  return createHash('shake256', { outputLength: bytes }).update(String(number)).digest();
}

/** Pages of 10 to 60 KB with requests. Every fifth repeats an earlier page. */
export async function storePages(archive: Archive, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 50) {
    const stores = Array.from({ length: Math.min(50, to - at) }, (_, i) => {
      const n = at + i;
      return archive.store({
        kind: 'http',
        url: `http://host${n % 7}.test/page/${n}`,
        time: START + n * 1000,
        responseHead: Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n'),
        body: n % 5 === 4 ? content(n - 4, sizeOf(n - 4)) : content(n, sizeOf(n)),
        request: Buffer.from(`GET /page/${n} HTTP/1.1\r\nHost: host${n % 7}.test\r\n\r\n`),
      });
    });
    await Promise.all(stores);
  }
}

function sizeOf(number: number): number {
  return 10_000 + ((number * 7919) % 50_000);
}

/** Ids of the records in WARC bytes. An incomplete record is an error. */
export async function idsOf(bytes: Uint8Array): Promise<string[]> {
  const ids: string[] = [];
  async function* whole() {
    yield bytes;
  }
  for await (const record of readRecords(whole(), { name: 'stream' })) {
    for await (const _ of record.body());
    if (record.tail?.isComplete !== true) throw new Error(`${record.head.recordId} is cut short`);
    ids.push(record.head.recordId ?? 'nothing');
  }
  return ids;
}

/** Ids of all records that the archive streams now, in storage order, without those of one type. */
export async function storedIds(archive: Archive, but = ''): Promise<string[]> {
  const ids: string[] = [];
  for await (const { head } of await archive.stream()) if (head.type !== but) ids.push(head.recordId ?? 'nothing');
  return ids;
}

/** All the remaining bytes of a client. */
export async function drain(stream: Subscriber, beforeEach?: () => Promise<void>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (;;) {
    await beforeEach?.();
    const chunk = await stream.next();
    if (!chunk) return Buffer.concat(pieces);
    pieces.push(...chunk.pieces);
  }
}

/** Counts the bytes that are read from the volume. */
export function countReads(archive: Archive): { bytes: number } {
  const count = { bytes: 0 };
  const volume = volumeOf(archive);
  const read = volume.read.bind(volume);
  const stream = volume.stream.bind(volume);
  volume.read = async (ranges) => {
    const found = await read(ranges);
    for (const bytes of found) count.bytes += bytes.length;
    return found;
  };
  volume.stream = async function* (...range) {
    for await (const piece of stream(...range)) {
      count.bytes += piece.length;
      yield piece;
    }
  };
  return count;
}

export async function storedBytes(archive: Archive): Promise<number> {
  return (await archive.segments()).reduce((sum, { bytes }) => sum + bytes, 0);
}
