/** What the processes of the ledger's scenarios share: the real stores, leases and writers on a simulated machine. */

import type { Lease } from '../../src/catalog/index.ts';
import {
  AppendingStore,
  firstAttemptOf,
  HeldLease,
  LEASE_LIFE_MS,
  PartStore,
  type SegmentKind,
  type SegmentStore,
  type SegmentStores,
  SegmentWriter,
  type SegmentWriterOptions,
} from '../../src/ledger/index.ts';
import type { Machine } from './machine.ts';
import { VOLUME } from './world.ts';

export const COLLECTION = 'sim';

/** The volume of an archive: a bucket, or a disk. */
export type VolumeKind = 'bucket' | 'disk';

export function storesOf(
  { bucket, disk }: Pick<Machine, 'bucket' | 'disk'>,
  kind: VolumeKind = 'bucket',
): SegmentStores {
  const store: SegmentStore = kind === 'bucket' ? new PartStore(bucket) : new AppendingStore(disk);
  return { get: () => store, available: () => [store], writable: () => [store] };
}

export const CONTENTS: SegmentKind = { collection: 1, collectionName: COLLECTION, volume: VOLUME, coding: 'gzip' };
export const DELETIONS: SegmentKind = { ...CONTENTS, collection: 0, collectionName: '_deletions' };

export type WriterOptions = Partial<Pick<SegmentWriterOptions, 'lease' | 'firstAttempt'>> & {
  readonly volume?: VolumeKind;
  /** The number of the owner of an embedded catalog, which has no lease. */
  readonly owner?: number | undefined;
};

export function writerOf(machine: Machine, { volume, owner, ...options }: WriterOptions): SegmentWriter {
  const stores = storesOf(machine, volume);
  return new SegmentWriter({
    catalog: machine.catalog,
    // The clock of the simulation never goes back, so no name is taken.
    stores: { get: stores.get, available: () => [] },
    lease: undefined,
    clock: machine.clock,
    newId: machine.ids,
    software: 'simulation',
    host: machine.name,
    segmentBytesMax: 2 ** 30,
    graceMs: 0,
    ...(owner !== undefined && { firstAttempt: firstAttemptOf(owner) }),
    ...options,
  });
}

/** The lease to write under; `none` for the owner of an embedded catalog. Undefined: others have it. */
export async function writerLease(machine: Machine, { owner }: WriterOptions): Promise<Lease | 'none' | undefined> {
  return owner === undefined ? (await leaseOf(machine))?.lease : 'none';
}

/** Takes a lease of the process's own, or of another name. */
export function leaseOf({ catalog, name }: Machine, of = name): Promise<HeldLease | undefined> {
  return HeldLease.take(catalog, of, name, { lifeMs: LEASE_LIFE_MS });
}
