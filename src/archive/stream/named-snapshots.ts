/**
 * Snapshots with names. A snapshot lists the segments of the archive at one instant, until it is removed. While a
 * snapshot exists, compaction leaves its segments as they are, so that a stream of it, or an index made from it, stays
 * complete. Deleted captures are still not delivered: a snapshot keeps their bytes without giving access to them.
 *
 * ```
 *   snapshots.json   { "version": 2, "sha256": hex, "snapshots": [{ name, time, segments: [[volume, name, bytes] ...],
 *                    bounds }] }; in the archive's directory; truth
 * ```
 * The digest is of the list of snapshots as compact JSON. Files of version 1 may not have one, and have `mark` in place
 * of the bounds, with numbers of segments, which is not used.
 *
 * The bounds are those of sequence numbers, so they stay valid through rebuilds, which read these numbers from the
 * segments. A segment of another writer does not have its number in it. When the catalog that knew the number
 * was lost, and for snapshots of version 1, the bounds are made of the list of segments.
 *
 * In a cluster, each snapshot is a note of the catalog, and an object in every writable volume, from which it can be
 * read when the database is lost:
 *
 * ```
 *   note    snapshot:<name>                   the snapshot as JSON
 *   object  _pinakes/snapshots/<name>.json    the same
 * ```
 *
 * An archive with a damaged file still opens. The file stays as it is, and nothing is written to it. Until it is
 * restored or moved away, no snapshot is created or removed, and compaction leaves every segment as it is, since a
 * snapshot may keep it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  digestOf,
  type EpochMs,
  Exclusive,
  fileError,
  PinakesError,
  replaceFile,
  toHex,
  utf8,
} from '../../base/index.ts';
import type { Catalog, CommitGroup, RootSegment, Segment } from '../../catalog/index.ts';
import {
  compareTexts,
  parseBounds,
  type RootPlaces,
  rootsOf,
  type SegmentStores,
  type SnapshotBounds,
} from '../../ledger/index.ts';
import { PLAIN_NAME } from '../collections.ts';
import { boundsOf, type SnapshotArchive } from './snapshot.ts';

const FILE_NAME = 'snapshots.json';
/** What the notes of snapshots begin with, in a cluster. */
export const SNAPSHOT_NOTE = 'snapshot:';
const FILE_VERSION = 2;

export type NamedSnapshot = {
  readonly name: string;
  readonly time: EpochMs;
  /** Volume, name and length of every segment. */
  readonly segments: readonly (readonly [string, string, number])[];
  /** Absent in snapshots of version 1. */
  readonly bounds?: SnapshotBounds;
};

/** Where snapshots are kept in a cluster. */
export type SharedSnapshots = {
  readonly catalog: Pick<Catalog, 'notes'>;
  readonly stores: Pick<SegmentStores, 'writable'>;
  readonly commit: (changes: Pick<CommitGroup, 'putNotes' | 'removeNotes'>) => Promise<void>;
};

export class NamedSnapshots {
  readonly #path: string;
  readonly #shared: SharedSnapshots | undefined;
  /** One change at a time, since each writes the whole file. */
  readonly #changes = new Exclusive();
  #snapshots: NamedSnapshot[] = [];
  #damage: PinakesError | undefined;

  constructor(directory: string, shared?: SharedSnapshots) {
    this.#path = join(directory, FILE_NAME);
    this.#shared = shared;
  }

  async load(): Promise<void> {
    this.#damage = undefined;
    if (this.#shared) {
      const notes = await this.#shared.catalog.notes(SNAPSHOT_NOTE);
      this.#snapshots = Object.values(notes).map((text) => JSON.parse(text) as NamedSnapshot);
      return;
    }
    try {
      const text = await readFile(this.#path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
        if (cause.code === 'ENOENT') return undefined;
        throw fileError(cause, this.#path);
      });
      this.#snapshots = text === undefined ? [] : parseFile(text);
    } catch (cause) {
      const detail = cause instanceof PinakesError ? cause.message : (cause as Error).message;
      this.#damage = new PinakesError('SNAPSHOTS_DAMAGED', { where: this.#path, detail, cause });
      this.#snapshots = [];
    }
  }

  /** Why the snapshots are unknown. Undefined when they are known. */
  get damage(): PinakesError | undefined {
    return this.#damage;
  }

  all(): readonly NamedSnapshot[] {
    if (this.#damage) throw this.#damage;
    return this.#snapshots;
  }

  get(name: string): NamedSnapshot {
    const found = this.all().find((snapshot) => snapshot.name === name);
    if (!found) throw new PinakesError('SNAPSHOT_MISSING', { where: name });
    return found;
  }

  /** Creates a snapshot of the archive as it is now, durably. */
  create(archive: SnapshotArchive, name: string): Promise<NamedSnapshot> {
    return this.#changes.run(() => this.#create(archive, name));
  }

  async #create(archive: SnapshotArchive, name: string): Promise<NamedSnapshot> {
    if (!PLAIN_NAME.test(name)) {
      const detail = 'the letters A-Z and a-z, digits, dots, dashes and underscores; the first a letter or a digit';
      throw new PinakesError('BAD_ARGUMENT', { where: `snapshot ${name}`, detail });
    }
    if (this.all().some((snapshot) => snapshot.name === name))
      throw new PinakesError('SNAPSHOT_EXISTS', { where: name });
    return archive.exclusive(async () => {
      const rows = await archive.segmentRegistry.all();
      const segments = rows
        .filter(({ bytes }) => bytes > 0)
        .map((segment) => [segment.volume, segment.name, segment.bytes] as const);
      const bounds = await boundsOf(archive, rows);
      const named: NamedSnapshot = { name, time: archive.clock(), segments, bounds };
      await this.#put(named);
      return named;
    });
  }

  remove(name: string): Promise<void> {
    return this.#changes.run(async () => {
      this.get(name);
      const left = this.#snapshots.filter((snapshot) => snapshot.name !== name);
      if (!this.#shared) return this.#write(left);
      await this.#shared.commit({ removeNotes: [SNAPSHOT_NOTE + name] });
      for (const store of this.#shared.stores.writable()) if (store.hasParts) await store.remove([objectName(name)]);
      this.#snapshots = left;
    });
  }

  /** Name of a snapshot that keeps this segment. */
  keeperOf(segment: Pick<Segment, 'name'>): string | undefined {
    return this.#snapshots.find(({ segments }) => segments.some(([, name]) => name === segment.name))?.name;
  }

  async #put(named: NamedSnapshot): Promise<void> {
    const all = [...this.#snapshots, named];
    if (!this.#shared) return this.#write(all);
    const text = JSON.stringify(named);
    await this.#shared.commit({ putNotes: { [SNAPSHOT_NOTE + named.name]: text } });
    for (const store of this.#shared.stores.writable())
      if (store.hasParts) await store.writeObject(objectName(named.name), utf8(`${text}\n`));
    this.#snapshots = all;
  }

  async #write(snapshots: NamedSnapshot[]): Promise<void> {
    const file = { version: FILE_VERSION, sha256: sha256Of(snapshots), snapshots };
    await replaceFile(this.#path, `${JSON.stringify(file, null, 1)}\n`).catch((cause: unknown) => {
      throw fileError(cause, this.#path, 'writing');
    });
    this.#snapshots = snapshots;
  }
}

/** The notes that snapshots are in a cluster, and their objects in the volumes. */
export async function snapshotNotes(
  snapshots: readonly NamedSnapshot[],
  stores: Pick<SegmentStores, 'writable'>,
): Promise<Record<string, string>> {
  for (const named of snapshots)
    for (const store of stores.writable())
      if (store.hasParts) await store.writeObject(objectName(named.name), utf8(`${JSON.stringify(named)}\n`));
  return Object.fromEntries(snapshots.map((named) => [SNAPSHOT_NOTE + named.name, JSON.stringify(named)]));
}

function objectName(name: string): string {
  return `_pinakes/snapshots/${name}.json`;
}

/** The bounds of a snapshot in the archive as it is now. */
export function boundsOfNamed(snapshot: NamedSnapshot, places: RootPlaces): SnapshotBounds {
  const { bounds, segments } = snapshot;
  const rows = new Map(places.segments().map((row) => [row.name, row]));
  const isBelow = (name: string, before: number) =>
    rootsOfRow(rows.get(name)).every(({ sequence }) => sequence < before);
  if (bounds && segments.every(([, name]) => isBelow(name, bounds.before))) return bounds;
  return boundsOfList(snapshot, places, rows);
}

function rootsOfRow(row: Segment | undefined): readonly RootSegment[] {
  return row ? rootsOf(row) : [];
}

/** The bounds of the segments in the list of a snapshot, whatever their sequence numbers are. */
function boundsOfList(
  { name, segments }: NamedSnapshot,
  places: RootPlaces,
  rows: ReadonlyMap<string, Segment>,
): SnapshotBounds {
  const lengths = new Map(segments.map(([, segment, bytes]) => [segment, bytes]));
  const missing = segments.find(([, segment]) => !rows.has(segment) && !places.root(segment));
  if (missing) throw new PinakesError('CURSOR_EXPIRED', { where: `snapshot ${name}`, detail: `${missing[1]} is gone` });
  /** Where the snapshot ends in each root; undefined where it has all of it. */
  const ends = places.roots().map((root) => {
    const row = rows.get(root.name);
    const length = lengths.get(root.name) ?? (root.segments.some((one) => lengths.has(one.name)) ? undefined : 0);
    const isWhole = row?.state === 'sealed' && row.bytes === length;
    return { root, end: isWhole ? undefined : length };
  });
  const last = ends.findLast(({ end }) => end !== 0);
  const before = last ? last.root.sequence + 1 : 0;
  const open = ends.flatMap(({ root, end }): [string, number][] =>
    end === undefined || root.sequence >= before ? [] : [[root.name, end]],
  );
  return { before, open: open.sort(([one], [other]) => compareTexts(one, other)) };
}

function sha256Of(snapshots: unknown): string {
  return toHex(digestOf('sha256', utf8(JSON.stringify(snapshots))).bytes);
}

function parseFile(text: string): NamedSnapshot[] {
  const { version, sha256, snapshots } = JSON.parse(text) as Record<string, unknown>;
  if (version !== 1 && version !== FILE_VERSION) throw new Error(`version ${String(version)} is not understood`);
  if (sha256 !== undefined && sha256 !== sha256Of(snapshots)) throw new Error('its digest is not that of its contents');
  if (!Array.isArray(snapshots) || !snapshots.every(isSnapshot)) throw new Error('it is not a list of snapshots');
  return snapshots.map(({ name, time, segments, bounds }) => ({ name, time, segments, ...(bounds && { bounds }) }));
}

function isSnapshot(value: unknown): value is NamedSnapshot {
  const { name, time, segments, bounds } = (value ?? {}) as Record<string, unknown>;
  const isSegment = (segment: unknown) =>
    Array.isArray(segment) && segment.map((part) => typeof part).join() === 'string,string,number';
  return (
    typeof name === 'string' &&
    typeof time === 'number' &&
    (bounds === undefined || parseBounds(bounds) !== undefined) &&
    Array.isArray(segments) &&
    segments.every(isSegment)
  );
}
