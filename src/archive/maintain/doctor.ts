/**
 * What an archive has open and what waits in it: the process that owns it, leases, open segments, bytes that will be
 * removed and why they are still there, and the room that is left. Reads rows and file sizes only, heals nothing, and
 * needs no lease (I14).
 *
 * A process that has the archive open answers for it. Where another process without a server has it, only the parts
 * outside of the catalog are reported.
 */
import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type EpochMs, PinakesError } from '../../base/index.ts';
import { type LeaseRow, openLevelCatalog, type Segment } from '../../catalog/index.ts';
import { pendingRemovals, pendingSwaps, SEAL_NOTE, SEALED_NOTE, type SegmentStores } from '../../ledger/index.ts';
import { openClusterCatalog } from '../cluster/open.ts';
import { type Connector, readConnector } from '../connector.ts';
import { type MirrorStatus, mirrorStatuses } from '../mirror-status.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type Owner, ownerOf } from '../owner.ts';
import { Reserve } from '../reserve.ts';
import { VolumeStores } from '../segment/segment-stores.ts';
import { VolumeSet } from '../segment/volume-set.ts';
import { NamedSnapshots } from '../stream/named-snapshots.ts';
import { CATALOG_DIRECTORY } from './catalog-soundness.ts';

export type OpenSegmentState = Pick<Segment, 'name' | 'volume' | 'bytes' | 'records'> & {
  readonly state: 'open' | 'sealing';
  /** The lease under which it is written. Undefined: the process that owns the archive writes it. */
  readonly lease: string | undefined;
  /** Bytes in the volume after those that are committed. Undefined: the volume or the object cannot be reached. */
  readonly uncommittedBytes: number | undefined;
};

/** Something that will be removed, and what it waits for. */
export type PendingRemoval = {
  readonly kind: 'deleted records' | 'replaced segment' | 'parts' | 'barred bytes';
  readonly what: string;
  readonly bytes: number | undefined;
  readonly waitsFor: 'compaction' | 'snapshot' | 'volume' | 'grace' | 'sealing' | 'next change';
  /** The snapshot, volume or segment that it waits for. */
  readonly detail: string;
};

export type CatalogState = {
  /** Whether its rows are of an earlier version, and so are only read. */
  readonly isOld: boolean;
  readonly incarnation: number;
  readonly isAdopting: boolean;
  readonly leases: readonly LeaseRow[];
  readonly openSegments: readonly OpenSegmentState[];
  readonly pending: readonly PendingRemoval[];
  /** Full records whose content another record holds. Compaction makes revisits of them. */
  readonly surplusRecords: number;
};

export type VolumeRoom = {
  readonly name: string;
  readonly writable: boolean;
  readonly freeBytes: number | undefined;
  readonly totalBytes: number | undefined;
  /** Why the volume is missing. */
  readonly failure: PinakesError | undefined;
};

export type Examination = {
  readonly time: EpochMs;
  /** Whether several machines have the archive open at the same time. */
  readonly isShared: boolean;
  /** The process that has the archive open, if there is one. */
  readonly owner: Owner | undefined;
  /** Undefined: it is not made yet, the owner is another process, or it cannot be read for the reason in `refusal`. */
  readonly catalog: CatalogState | undefined;
  /** Why the catalog cannot be read, or takes no changes. */
  readonly refusal: PinakesError | undefined;
  readonly volumes: readonly VolumeRoom[];
  readonly mirrors: readonly MirrorStatus[];
  /** The reserve of the archive's own disk, and what is free beside it. */
  readonly reserve: { readonly bytes: number; readonly freeBytes: number | undefined };
};

/** Reports on an archive that this process has open. */
export async function examineOpened(archive: OpenedArchive): Promise<Examination> {
  const { catalog, directory, volumes, clock } = archive;
  const room = await examineRoom(directory, archive.connector, volumes, clock());
  const state = await examineCatalog(archive, room.volumes);
  return { ...room, catalog: state, refusal: state.isOld ? undefined : catalog.refusal };
}

/** Reports on an archive that this process does not have open. */
export async function examineClosed(directory: string, now: EpochMs): Promise<Examination> {
  const connector = await readConnector(directory);
  if (connector.catalog !== undefined) return examineCluster(directory, connector, now);
  const volumes = await VolumeSet.open(
    directory,
    connector.volumes.map((setting) => ({ ...setting, writable: false })),
    { clock: () => now },
  );
  try {
    const room = await examineRoom(directory, connector, volumes, now);
    // The lock of a process on another machine may be invisible here.
    if (room.owner && room.owner.host !== hostname()) return { ...room, catalog: undefined, refusal: undefined };
    try {
      return { ...room, catalog: await examineClosedCatalog(directory, volumes, room.volumes), refusal: undefined };
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      const isOwned = error.code === 'CATALOG_LOCKED' && room.owner !== undefined;
      return { ...room, catalog: undefined, refusal: isOwned ? undefined : error };
    }
  } finally {
    await volumes.close();
  }
}

/** Reports on an archive in a cluster, which any process may open. */
async function examineCluster(directory: string, file: Connector, time: EpochMs): Promise<Examination> {
  const { catalog, settings } = await openClusterCatalog(directory, file);
  try {
    const { connector } = settings;
    const readOnly = connector.volumes.map((setting) => ({ ...setting, writable: false }));
    const volumes = await VolumeSet.open(directory, readOnly, { clock: () => time });
    try {
      const room = await examineRoom(directory, connector, volumes, time);
      const stores = new VolumeStores(volumes);
      const snapshots = new NamedSnapshots(directory, { catalog, stores, commit: async () => {} });
      await snapshots.load();
      const state = await examineCatalog({ catalog, stores, snapshots }, room.volumes);
      const isTrusted = (await catalog.isTrusted?.()) ?? true;
      const refusal = isTrusted ? undefined : new PinakesError('CATALOG_FAILED_OVER', { where: file.catalog ?? '' });
      return { ...room, catalog: state, refusal };
    } finally {
      await volumes.close();
    }
  } finally {
    await catalog.close();
  }
}

async function examineClosedCatalog(
  directory: string,
  volumes: VolumeSet,
  rooms: readonly VolumeRoom[],
): Promise<CatalogState | undefined> {
  const path = join(directory, CATALOG_DIRECTORY);
  const isMade = await stat(path).then(
    () => true,
    () => false,
  );
  // Opening it would make an empty one.
  if (!isMade) return undefined;
  const catalog = await openLevelCatalog(path);
  try {
    const snapshots = new NamedSnapshots(directory);
    await snapshots.load();
    return await examineCatalog({ catalog, stores: new VolumeStores(volumes), snapshots }, rooms);
  } finally {
    await catalog.close();
  }
}

async function examineRoom(
  directory: string,
  connector: Connector,
  volumes: VolumeSet,
  time: EpochMs,
): Promise<Omit<Examination, 'catalog' | 'refusal'>> {
  const rooms: VolumeRoom[] = [];
  const stores = new VolumeStores(volumes);
  for (const { name, writable } of connector.volumes) {
    let failure = volumes.failureOf(name);
    const space = await (failure ? undefined : stores.get(name).space())?.catch((error: PinakesError) => {
      failure = error;
      return undefined;
    });
    rooms.push({ name, writable, freeBytes: space?.freeBytes, totalBytes: space?.totalBytes, failure });
  }
  const reserve = await new Reserve(directory).state();
  const mirrors = await mirrorStatuses(directory, connector.mirrors ?? []);
  const isShared = connector.id !== undefined;
  return { time, isShared, owner: await ownerOf(directory), volumes: rooms, mirrors, reserve };
}

type OpenCatalog = Pick<OpenedArchive, 'catalog' | 'stores' | 'snapshots'>;

async function examineCatalog(archive: OpenCatalog, rooms: readonly VolumeRoom[]): Promise<CatalogState> {
  const { catalog, stores } = archive;
  const segments = await catalog.segments();
  let surplusRecords = 0;
  for (const { number } of segments) surplusRecords += (await catalog.surplusRecords(number)).length;
  return {
    isOld: catalog.refusal?.code === 'ARCHIVE_OLD',
    incarnation: await catalog.incarnation(),
    isAdopting: await catalog.isAdopting(),
    leases: await catalog.leases(),
    openSegments: await openSegmentsOf(segments, stores),
    pending: [...(await pendingNotes(catalog)), ...deletedRecords(archive, segments, rooms)],
    surplusRecords,
  };
}

async function openSegmentsOf(
  segments: readonly Segment[],
  stores: Pick<SegmentStores, 'get'>,
): Promise<OpenSegmentState[]> {
  const open: OpenSegmentState[] = [];
  for (const segment of segments) {
    const { name, volume, bytes, records, state, lease } = segment;
    if (state === 'sealed') continue;
    // A missing volume is reported with the volumes.
    const found = await unlessAway(async () => stores.get(volume).lengthOf(segment));
    const uncommittedBytes = found === undefined ? undefined : found - bytes;
    open.push({ name, volume, bytes, records, state, lease: lease?.name, uncommittedBytes });
  }
  return open;
}

async function unlessAway<Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof PinakesError) return undefined;
    throw error;
  }
}

/** What the notes of the catalog say about bytes that are to be removed. */
async function pendingNotes(catalog: OpenCatalog['catalog']): Promise<PendingRemoval[]> {
  const pending: PendingRemoval[] = [];
  for (const [by, olds] of await pendingSwaps(catalog))
    for (const what of olds)
      pending.push({ kind: 'replaced segment', what, bytes: undefined, waitsFor: 'next change', detail: by });
  for (const [what, { by }] of await pendingRemovals(catalog))
    pending.push({ kind: 'replaced segment', what, bytes: undefined, waitsFor: 'grace', detail: by });
  for (const note of Object.keys(await catalog.notes(SEALED_NOTE))) {
    const what = note.slice(SEALED_NOTE.length);
    pending.push({ kind: 'parts', what, bytes: undefined, waitsFor: 'grace', detail: what });
  }
  for (const note of Object.keys(await catalog.notes(SEAL_NOTE))) {
    const what = note.slice(SEAL_NOTE.length);
    pending.push({ kind: 'barred bytes', what, bytes: undefined, waitsFor: 'sealing', detail: what });
  }
  return pending;
}

/** The deleted records of each segment. */
function deletedRecords(
  { snapshots }: OpenCatalog,
  segments: readonly Segment[],
  rooms: readonly VolumeRoom[],
): PendingRemoval[] {
  const missing = rooms.find(({ failure }) => failure);
  const readOnly = new Set(rooms.flatMap(({ name, writable }) => (writable ? [] : [name])));
  const reasonOf = (segment: Segment): Pick<PendingRemoval, 'waitsFor' | 'detail'> => {
    if (missing) return { waitsFor: 'volume', detail: missing.name };
    if (snapshots.damage) return { waitsFor: 'snapshot', detail: 'the damaged list of snapshots' };
    const snapshot = snapshots.keeperOf(segment);
    if (snapshot !== undefined) return { waitsFor: 'snapshot', detail: `the snapshot ${snapshot}` };
    if (readOnly.has(segment.volume)) return { waitsFor: 'volume', detail: segment.volume };
    return { waitsFor: 'compaction', detail: segment.name };
  };
  return segments
    .filter(({ deadBytes }) => deadBytes > 0)
    .map((segment) => ({
      kind: 'deleted records',
      what: segment.name,
      bytes: segment.deadBytes,
      ...reasonOf(segment),
    }));
}
