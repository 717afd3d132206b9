/**
 * Archives for tests in temporary directories, with a clock and ids that repeat, and an auditor that reads every byte
 * itself.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type Archive,
  type ArchiveOptions,
  createArchive,
  type Policies,
  type VolumeSet,
} from '../../src/archive/index.ts';
import { seededIds, seededRandom, toHex, utf8 } from '../../src/base/index.ts';
import type { Capture } from '../../src/catalog/index.ts';
import { BlockScanner, type RecordHead, readRecords } from '../../src/warc/index.ts';
import { fingerprintIn, objectsOf, openWithParts, withVolumes } from './opened-parts.ts';

export const NOON = Date.UTC(2026, 0, 1, 12);

export async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-archive-'));
  // Hooks that run later close archives in this directory, and may still write to it.
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  return directory;
}

export type TrialOptions = Partial<ArchiveOptions> & { readonly policies?: Partial<Policies>; readonly seed?: number };

/** Options to open an archive with: a clock that advances a second at every call, and ids from a seed. */
export function trialOptions({ seed = 1, policies: _, ...options }: TrialOptions = {}): ArchiveOptions {
  let now = NOON;
  return { clock: () => (now += 1000), newId: seededIds(seededRandom(seed)), ...options };
}

export async function makeArchive(t: TestContext, options: TrialOptions = {}): Promise<Archive> {
  const directory = await temporaryDirectory(t);
  await createArchive(directory, { policies: options.policies ?? {} });
  const archive = await openWithParts(directory, trialOptions(options));
  t.after(() => archive.close().catch(() => {}));
  return archive;
}

/** Bytes that compress badly and differ at their beginning. */
export function contentOf(name: string, bytes = 3000): Uint8Array {
  const rest = createHash('shake256', { outputLength: Math.ceil(bytes / 2) })
    .update(name)
    .digest('hex');
  return utf8(`<!-- ${name} -->\n${rest}`.slice(0, bytes));
}

export function page(
  url: string,
  time: number,
  body: Uint8Array | AsyncIterable<Uint8Array>,
  fields: readonly string[] = [],
) {
  const head = ['HTTP/1.1 200 OK', 'Content-Type: text/html; charset=utf-8', ...fields, '', ''].join('\r\n');
  return { kind: 'http', url, time, responseHead: utf8(head), body } as const;
}

export async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const piece of pieces) parts.push(Buffer.from(piece));
  return Buffer.concat(parts);
}

export async function payloadAt(archive: Archive, url: string, time?: number): Promise<Buffer> {
  return bytesOf((await archive.get(url, time)).payload);
}

export async function allCaptures(archive: Archive): Promise<Capture[]> {
  const captures: Capture[] = [];
  for await (const part of archive.captures({})) captures.push(...part);
  return captures;
}

export type WalkedRecord = {
  readonly segment: string;
  readonly head: RecordHead;
  readonly offset: number;
  readonly length: number | undefined;
  readonly payloadSha256: string;
  readonly payloadBytes: number;
};

/** Every record of every segment, read from the first byte to the last as any other tool would read it. */
export async function walk(archive: Archive): Promise<WalkedRecord[]> {
  const walked: WalkedRecord[] = [];
  for (const segment of await archive.segments()) {
    const stream = archive.segmentBytes(segment.name);
    for await (const record of readRecords(stream, { name: segment.name })) {
      const scanner = new BlockScanner(record.head, { payload: ['sha256'] });
      for await (const piece of record.body()) scanner.push(piece);
      const { payloadBytes, payloadDigests } = scanner.end();
      walked.push({
        segment: segment.name,
        head: record.head,
        offset: record.head.offset,
        length: record.tail?.length,
        payloadSha256: toHex(payloadDigests[0]!.bytes),
        payloadBytes,
      });
    }
  }
  return walked;
}

function visitOf(uri: string | undefined, date: string | undefined): string {
  return `${date} ${uri?.replace(/^<|>$/g, '')}`;
}

/** Revisits whose Refers-To fields do not name a full record in any segment. */
function danglingRevisits(walked: readonly WalkedRecord[]): string[] {
  const full = new Set<string>();
  for (const { head } of walked)
    if (head.type === 'response' || head.type === 'resource') full.add(visitOf(head.targetUri, head.standardDate));
  return walked
    .filter(({ head }) => head.type === 'revisit')
    .map(({ head }) => visitOf(head.get('warc-refers-to-target-uri'), head.get('warc-refers-to-date')))
    .filter((visit) => !full.has(visit));
}

const keyOf = (capture: Capture) =>
  capture.block ? `${toHex(capture.block.digest)}~${capture.block.overflow}` : 'unresolved';

/** What the archive returns for every capture, which must be the same after a rebuild. */
export async function answers(archive: Archive): Promise<string[]> {
  const lines: string[] = [];
  for (const capture of await allCaptures(archive)) {
    const { head, http, payload } = await archive.open(capture);
    const sha = createHash('sha256')
      .update(await bytesOf(payload))
      .digest('hex');
    const collection = await archive.collections.name(capture.collection);
    const { url, time, kind, status, mime } = capture;
    lines.push(
      [url, time, kind, status, mime, collection, keyOf(capture), head.recordId, http?.bytes.length ?? 0, sha].join(
        ' ',
      ),
    );
  }
  return lines.sort();
}

/** Offsets of the deleted records of each segment by its tombstones, and the names of all files in the volumes. */
async function readVolumes(volumes: VolumeSet): Promise<{ tombstones: Map<string, Set<number>>; files: string[] }> {
  const tombstones = new Map<string, Set<number>>();
  const files: string[] = [];
  for (const volume of volumes.available()) {
    for (const { name } of await objectsOf(volume)) {
      files.push(name);
      if (!name.endsWith(TOMBSTONES)) continue;
      const segment = name.slice(0, -TOMBSTONES.length);
      const lines = (await bytesOf(volume.stream(name))).toString('latin1').matchAll(/^(\d{1,15}) \S+\n/gm);
      const offsets = Array.from(lines, ([, offset]) => Number(offset));
      tombstones.set(segment, new Set([...(tombstones.get(segment) ?? []), ...offsets]));
    }
  }
  return { tombstones, files };
}

const TOMBSTONES = '.tombstones';

/** Every problem: where the catalog differs from the segments, and where segments contradict each other. */
export async function audit(archive: Archive): Promise<string[]> {
  const problems: string[] = [];
  const walked = await walk(archive);
  const records = new Map(walked.map((record) => [`${record.segment}:${record.offset}`, record]));
  const nameOf = new Map((await archive.segments()).map(({ number, name }) => [number, name]));
  const { tombstones, files } = await withVolumes(archive, readVolumes);
  for (const segment of await archive.segments()) {
    const offsets = (await archive.deletedRecords(segment)).map(({ offset }) => offset);
    tombstones.set(segment.name, new Set([...(tombstones.get(segment.name) ?? []), ...offsets]));
  }
  const references = new Map<string, number>();
  const catalogued = new Set<string>();
  for (const capture of await allCaptures(archive)) {
    const what = `${capture.url} ${capture.time}`;
    const at = `${nameOf.get(capture.place.segment)}:${capture.place.offset}`;
    const record = records.get(at);
    catalogued.add(at);
    if (!record || record.head.targetUri !== capture.url || record.length !== capture.place.length)
      problems.push(`${what}: its record is not at ${at}`);
    else if (record.head.type !== capture.kind)
      problems.push(`${what}: only the catalog says that it is a ${capture.kind}`);
    if (tombstones.get(nameOf.get(capture.place.segment) ?? '')?.has(capture.place.offset))
      problems.push(`${what}: deleted and still in the catalog`);
    if (capture.block) references.set(keyOf(capture), (references.get(keyOf(capture)) ?? 0) + 1);
  }
  for await (const part of archive.blocks()) {
    for (const block of part) {
      const id = `${toHex(block.key.digest)}~${block.key.overflow}`;
      if (block.references !== (references.get(id) ?? 0) || block.references === 0)
        problems.push(`${id}: ${block.references} references in the catalog, ${references.get(id) ?? 0} counted`);
      references.delete(id);
      const holder = records.get(`${nameOf.get(block.holder.segment)}:${block.holder.offset}`);
      const sha = holder && toHex(fingerprintIn(archive, Buffer.from(holder.payloadSha256, 'hex')));
      if (!holder || holder.head.type === 'revisit') problems.push(`${id}: no record holds it`);
      else if (sha !== toHex(block.key.digest) || holder.payloadBytes !== block.size)
        problems.push(`${id}: another content is in its place`);
    }
  }
  for (const id of references.keys()) problems.push(`${id}: captures refer to a content that is not there`);
  for (const record of walked) {
    const { type, time, targetUri } = record.head;
    const isCapture =
      ['response', 'revisit', 'resource'].includes(type) && time !== undefined && targetUri !== undefined;
    const isDead = tombstones.get(record.segment)?.has(record.offset);
    if (isCapture && !isDead && !catalogued.has(`${record.segment}:${record.offset}`))
      problems.push(`${record.segment}:${record.offset}: neither in the catalog nor deleted`);
  }
  const names = new Set([...nameOf.values()].flatMap((name) => [name, name + TOMBSTONES]));
  problems.push(
    ...files
      .filter((name) => !names.has(name) && !name.startsWith('_pinakes/'))
      .map((name) => `${name}: a file that belongs to no segment`),
  );
  // A deleted record may refer to a record that compaction has removed.
  const alive = walked.filter(
    ({ segment, offset, head }) => head.type !== 'revisit' || !tombstones.get(segment)?.has(offset),
  );
  problems.push(...danglingRevisits(alive).map((visit) => `a revisit points at ${visit}, which is not there`));
  return problems;
}
