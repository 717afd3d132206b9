/** Records of the objects of a volume, read with the real reader. Equal objects are read once. */
import { hash } from 'node:crypto';
import { assert } from '../../src/base/index.ts';
import type { Segment } from '../../src/catalog/index.ts';
import { factsOfRecord, type RecordFacts } from '../../src/ledger/index.ts';
import type { ObjectInfo } from '../../src/volume/index.ts';
import { BlockScanner, readRecords } from '../../src/warc/index.ts';

/** What the judge needs of a volume: both kinds of volume have it. */
export type ReadableVolume = {
  list(prefix?: string): AsyncIterable<ObjectInfo[]> | Promise<ObjectInfo[]>;
  stream(name: string): AsyncIterable<Uint8Array>;
};

export type FoundRecord = RecordFacts & { readonly digest: string };

/** All objects of a volume at one moment. */
export type Objects = ReadonlyMap<string, Uint8Array>;

export async function objectsOf(volume: ReadableVolume): Promise<Objects> {
  const found = volume.list();
  const infos: ObjectInfo[] = [];
  if (Symbol.asyncIterator in found) for await (const page of found) infos.push(...page);
  else infos.push(...(await found));
  const objects = new Map<string, Uint8Array>();
  for (const { name } of infos) {
    const pieces: Uint8Array[] = [];
    for await (const piece of volume.stream(name)) pieces.push(Buffer.from(piece));
    objects.set(name, pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
  }
  return objects;
}

/** The bytes of a segment: its object, or its parts while it is open or being sealed. Undefined: they are not there. */
export function bytesOfSegment({ name, state, parts }: Segment, objects: Objects): Uint8Array | undefined {
  if (state === 'sealed' || !parts) return objects.get(name);
  const found: Uint8Array[] = [];
  let offset = 0;
  for (const part of parts) {
    const bytes = objects.get(part.name);
    if (!bytes || part.offset !== offset) return undefined;
    found.push(bytes);
    offset += bytes.length;
  }
  return found.length === 1 ? found[0] : Buffer.concat(found);
}

const KNOWN_MAX = 2000;
const known = new Map<string, FoundRecord[]>();

/** The whole records of an object. A torn record at the end is left out. */
export async function recordsOf(bytes: Uint8Array): Promise<readonly FoundRecord[]> {
  const id = hash('sha1', bytes, 'base64');
  let records = known.get(id);
  if (!records) {
    records = await readAll(bytes);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(id, records);
  }
  return records;
}

async function readAll(bytes: Uint8Array): Promise<FoundRecord[]> {
  const records: FoundRecord[] = [];
  for await (const record of readRecords(inOnePiece(bytes), { inputBytes: bytes.length })) {
    const scanner = new BlockScanner(record.head, { payload: ['sha256'] });
    for await (const piece of record.body()) scanner.push(piece);
    assert(record.tail, 'the body was read to its end');
    if (!record.tail.isComplete || record.tail.isTorn || record.damage.length > 0) continue;
    const scanned = scanner.end();
    const facts = factsOfRecord(record.head, scanned, record.tail.length, true);
    records.push({ ...facts, digest: Buffer.from(facts.payloadDigest).toString('hex') });
  }
  return records;
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
