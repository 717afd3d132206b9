/**
 * An archive that an earlier version of the program wrote, and what must be true of it.
 *
 * ```
 *   test/fixtures/archive-1/         an archive of the first format, as it was after it was closed
 *   test/fixtures/archive-1-files/   a file that was added to it by copying, and one that was added in place
 *   test/fixtures/archive-1.json     what must be true of it, compared with what was stored when the archive was made
 * ```
 * The program can no longer be made to write these files, so they are never written again. The archive has two
 * collections with common contents, a recompressed segment, segments that compaction wrote, deletions before compaction
 * and after it, open segments, odd records, and revisits of another crawler with and without their original.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Archive, captureId, type StreamOrder, type StreamQuery } from '../../src/archive/index.ts';
import { toHex } from '../../src/base/index.ts';
import { allCaptures, bytesOf, NOON, temporaryDirectory } from './trial-archive.ts';

export const FIXTURES = join(import.meta.dirname, '../fixtures');
/** A day after the archive was made. */
export const NEXT_DAY = NOON + 101 * 86_400_000;

export type OldCapture = {
  readonly url: string;
  readonly time: number;
  readonly collection: string;
  readonly kind: string;
  readonly status: number;
  readonly mime: string;
  readonly id: string;
  /** Digest and overflow number, or null when the original of a revisit is not known. */
  readonly content: string | null;
  /** SHA-256 of the payload as the archive returns it. */
  readonly sha256: string | null;
};

type OldArchive = {
  readonly captures: readonly OldCapture[];
  readonly deleted: readonly {
    readonly url: string;
    readonly time: number;
    readonly collection: string;
    readonly sha256: string;
    readonly compacted: boolean;
  }[];
  /** Streams that were stopped in the middle, and the ids of the records that they must still deliver. */
  readonly streams: readonly { readonly order: StreamOrder; readonly cursor: string; readonly records: string[] }[];
  readonly snapshot: { readonly name: string; readonly records: string[] };
  readonly segments: readonly object[];
  readonly pages: readonly { readonly url: string; readonly id: string }[];
  /** The codes of the problems that verification finds. */
  readonly problems: readonly string[];
  readonly totals: object;
  readonly stats: { readonly unresolvedRevisits: number };
};

export const OLD = JSON.parse(await readFile(join(FIXTURES, 'archive-1.json'), 'utf8')) as OldArchive;

/** A copy of the archive. Its list of files that were added in place names the fixture wherever the checkout is. */
export async function copied(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  await cp(join(FIXTURES, 'archive-1'), directory, { recursive: true });
  const manifest = join(directory, 'volumes/linked.jsonl');
  const path = JSON.stringify(FIXTURES).slice(1, -1);
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replaceAll('<fixtures>', path));
  return directory;
}

export async function capturesOf(archive: Archive): Promise<OldCapture[]> {
  const captures: OldCapture[] = [];
  for (const capture of await allCaptures(archive)) {
    const { url, time, kind, status, mime, block } = capture;
    const payload = block ? await bytesOf((await archive.open(capture)).payload) : undefined;
    captures.push({
      url,
      time,
      collection: await archive.collections.name(capture.collection),
      kind,
      status,
      mime,
      id: captureId(capture),
      content: block ? `sha256:${toHex(block.digest)}${block.overflow > 0 ? `~${block.overflow}` : ''}` : null,
      sha256: payload ? createHash('sha256').update(payload).digest('hex') : null,
    });
  }
  return captures;
}

/** The captures without what compaction and a rebuild may change: which of several records holds a content. */
export function contents(captures: readonly OldCapture[]): string[] {
  return captures.map(({ url, time, collection, id, sha256 }) => [url, time, collection, id, sha256].join(' ')).sort();
}

export async function recordIds(archive: Archive, query: StreamQuery): Promise<string[]> {
  const ids: string[] = [];
  for await (const { head } of await archive.stream(query)) ids.push(head.recordId ?? 'nothing');
  return ids;
}

export async function assertDeletedStayAway(archive: Archive): Promise<void> {
  const there = new Set((await allCaptures(archive)).map(({ url, collection }) => `${collection} ${url}`));
  for (const { url, collection } of OLD.deleted)
    assert.ok(!there.has(`${await archive.collections.find(collection)} ${url}`), `${url} is back`);
}
