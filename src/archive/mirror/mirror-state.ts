/**
 * The archive at one instant, as a mirror takes it: rows of segments with their committed lengths, the archive's own
 * objects, its files. It is read between two changes, so every capture in it has its content in it (I1).
 *
 * The bytes are copied afterwards. Those of a row that was compacted away meanwhile are gone, and the state is read
 * again.
 */
import { copyFile, mkdtemp, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { equal } from '../../base/index.ts';
import type { Bar, Segment } from '../../catalog/index.ts';
import { listedObjects, SEAL_NOTE, type SegmentStore } from '../../ledger/index.ts';
import { CONNECTOR_NAME, type VolumeSetting } from '../connector.ts';
import { isUnfinishedReplacement } from '../maintain/segment-swap.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { TOMBSTONES_SUFFIX } from '../segment/tombstones.ts';

const OWN_FOLDER = '_pinakes/';
const PARTS_FOLDER = '_pinakes/open/';
const FILES = [CONNECTOR_NAME, 'snapshots.json', 'sequences.jsonl'];

export type OwnObject = {
  readonly store: SegmentStore;
  readonly name: string;
  readonly bytes: number;
  /** False for a file of tombstones, which may change. */
  readonly isSealed: boolean;
};

/** A copy of a file of the archive's directory. */
export type FileCopy = { readonly file: string; readonly path: string; readonly bytes: number };

export type MirrorState = {
  readonly volumes: readonly VolumeSetting[];
  readonly segments: readonly Segment[];
  readonly objects: readonly OwnObject[];
  readonly files: readonly FileCopy[];
  /** The number of the newest takedown in the log. */
  readonly takedowns: number;
  /** Segments that still have bytes of what is barred, and whether a takedown was interrupted. */
  readonly barred: readonly string[];
  readonly isInterrupted: boolean;
};

export function mirrorState(archive: OpenedArchive): Promise<MirrorState> {
  return archive.exclusive(async () => {
    const rows = (await archive.catalog.segments()).filter((row) => row.bytes > 0 && !isUnfinishedReplacement(row));
    const { entries } = await archive.takedownLog.read();
    const done = new Set(
      entries.flatMap(({ entry }) => (entry?.facts.kind === 'carried out' ? [entry.facts.takedown] : [])),
    );
    const begun = entries.flatMap(({ entry }) => (entry?.facts.kind === 'takedown' ? [entry.number] : []));
    const newest = begun.at(-1) ?? 0;
    return {
      volumes: archive.volumes.settings(),
      segments: rows,
      objects: await ownObjects(archive),
      files: await copyFiles(archive),
      takedowns: newest,
      barred: await barredSegments(archive, rows),
      isInterrupted: newest > 0 && !done.has(newest),
    };
  });
}

async function ownObjects({ stores, volumes }: OpenedArchive): Promise<OwnObject[]> {
  const objects: OwnObject[] = [];
  for (const store of stores.available()) {
    if (volumes.linked(store.volume)) continue;
    // Only volumes of older archives have tombstones, and these are directories.
    for (const { name, bytes, sealed } of await listedObjects(store, store.hasParts ? OWN_FOLDER : '')) {
      const isOwn = name.startsWith(OWN_FOLDER) && !name.startsWith(PARTS_FOLDER) && sealed;
      if (isOwn || name.endsWith(TOMBSTONES_SUFFIX)) objects.push({ store, name, bytes, isSealed: isOwn });
    }
  }
  return objects;
}

async function copyFiles({ directory, scratch, volumes }: OpenedArchive): Promise<FileCopy[]> {
  const linked = volumes.settings().flatMap(({ kind, path }) => (kind === 'linked' ? [path] : []));
  const copies = await mkdtemp(join(scratch, 'mirror-'));
  const files: FileCopy[] = [];
  for (const [index, file] of [...FILES, ...linked].entries()) {
    const path = join(copies, `${index}-${basename(file)}`);
    const isThere = await copyFile(resolve(directory, file), path).then(
      () => true,
      (cause: NodeJS.ErrnoException) => {
        if (cause.code !== 'ENOENT') throw cause;
        return false;
      },
    );
    if (isThere) files.push({ file, path, bytes: (await stat(path)).size });
  }
  return files;
}

/**
 * Segments with dead records of barred contents, and those that a takedown waits for. Dead records do not say their
 * URLs, so where a URL is barred, every segment with dead records may have bytes of it.
 */
async function barredSegments({ catalog }: OpenedArchive, rows: readonly Segment[]): Promise<string[]> {
  const bars = await catalog.bars();
  if (bars.length === 0) return [];
  const digests = bars.flatMap((bar) => (bar.kind === 'content' ? [bar.digest] : []));
  const hasUrl = bars.some((bar: Bar) => bar.kind === 'url');
  const asked = await catalog.notes(SEAL_NOTE);
  const names: string[] = [];
  for (const { number, name, deadBytes, state } of rows) {
    const isAsked = state !== 'sealed' && asked[SEAL_NOTE + name] !== undefined;
    const dead = deadBytes > 0 && !hasUrl ? await catalog.deadRecords(number) : [];
    const isDead = dead.some(({ block }) => block && digests.some((digest) => equal(digest, block.digest)));
    if (isAsked || isDead || (hasUrl && deadBytes > 0)) names.push(name);
  }
  return names;
}
