/**
 * An open archive as this room sees it: its catalog, volumes and segments, and the steps that every change consists of.
 * Other rooms see only `Archive`.
 *
 * Changes run one at a time, through `exclusive`. Reading does not wait for them.
 *
 * In a cluster, other processes change the archive at the same time. Then every change is made under the lease of this
 * process (cluster/), and nothing is healed or locked when the archive is opened.
 */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type CallObserver, type Clock, Exclusive, type Finding, type IdSource, PinakesError } from '../base/index.ts';
import {
  type Catalog,
  type CommitGroup,
  type CommitOutcome,
  type Lease,
  openLevelCatalog,
  type Segment,
} from '../catalog/index.ts';
import {
  commitCounted,
  countersOf,
  type RecordGroup,
  RunsCache,
  refusalOf,
  type SegmentStores,
  SegmentWriter,
  sequenceOf,
  shareCounters,
  type WriteOutcome,
} from '../ledger/index.ts';
import { Cluster, type ClusterTimes } from './cluster/cluster.ts';
import { openClusterCatalog } from './cluster/open.ts';
import { readableCatalog } from './cluster/readable-catalog.ts';
import type { ClusterSettings } from './cluster/settings.ts';
import { Collections } from './collections.ts';
import { ARCHIVE_VERSION, type Connector, readConnector, writeConnector } from './connector.ts';
import { CATALOG_DIRECTORY, hasCatalog } from './maintain/catalog-soundness.ts';
import { MirrorFallback } from './mirror/mirror-fallback.ts';
import { bucketOpener, type OpenRemote } from './mirror/mirror-target.ts';
import { type AnnouncedServer, assertTakable, lockedError, OwnerFile } from './owner.ts';
import { RecordAccess } from './read/record-access.ts';
import { Retrieval } from './read/retrieve.ts';
import { Reserve } from './reserve.ts';
import { CatalogDraft } from './revisit/catalog-draft.ts';
import { ResolutionFilter } from './revisit/resolution-filter.ts';
import { Scratch } from './scratch.ts';
import { NodeActivities } from './segment/node-activity.ts';
import { SegmentRegistry } from './segment/segment-registry.ts';
import { VolumeStores } from './segment/segment-stores.ts';
import { SequenceList } from './segment/sequence-list.ts';
import { Tombstones } from './segment/tombstones.ts';
import { VolumeSet } from './segment/volume-set.ts';
import { NamedSnapshots } from './stream/named-snapshots.ts';
import { TakedownLog } from './takedown/takedown-log.ts';

export type ArchiveOptions = {
  readonly clock: Clock;
  readonly newId: IdSource;
  /**
   * A monotonic time in milliseconds, such as `performance.now`. With it, retrieval from a fast disk does not wait for
   * other threads.
   */
  readonly stopwatch?: (() => number) | undefined;
  /** Why the archive is opened, for the owner file. */
  readonly purpose?: string;
  /** `pinakes/0.1.0`, as written into segments. */
  readonly software?: string;
  readonly onFinding?: (finding: Finding) => void;
  /** Called with a line about everything that the ledger counts, for a debug log. */
  readonly onLedgerEvent?: ((line: string) => void) | undefined;
  /** Watches commits, requests to buckets, and statements of a database. */
  readonly observe?: CallObserver | undefined;
  /** Called with every segment that opening had to read because the catalog did not match it. */
  readonly onOpening?: (segment: Segment) => void;
  /**
   * Opens an archive too whose catalog has to be made again and that lacks a volume for it. It has no captures until
   * `takeVolume` has taken the volume over and made the catalog.
   */
  readonly awaitsVolumes?: boolean | undefined;
  /** Aborts the opening. The next opening continues from there. */
  readonly signal?: AbortSignal | undefined;
  /** How long leases, graces and pauses are in a cluster. */
  readonly clusterTimes?: ClusterTimes | undefined;
  /** For tests: other volumes, another catalog, weaker fingerprints. */
  readonly volumes?: VolumeSet;
  readonly catalog?: Catalog;
  readonly fingerprint?: (digest: Uint8Array) => Uint8Array;
  /** For tests: opens the volume of a mirror whose target is an address. Default: a bucket. */
  readonly openRemote?: OpenRemote | undefined;
};

type OpenedArchiveOptions = {
  readonly directory: string;
  readonly connector: Connector;
  /** Both only where this process owns the catalog. */
  readonly owner?: OwnerFile;
  readonly reserve?: Reserve;
  readonly catalog: Catalog;
  /** The settings of a cluster, where the database has them. */
  readonly settings?: ClusterSettings;
  readonly volumes: VolumeSet;
  readonly options: ArchiveOptions;
};

/** How often a group of stores is made again in a cluster, and how long after a commit without an answer. */
const REPEATS_MAX = 3;
const REPEAT_PAUSE_MS = 1000;

export class OpenedArchive {
  readonly directory: string;
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly stopwatch: (() => number) | undefined;
  readonly software: string | undefined;
  readonly openRemote: OpenRemote;
  readonly catalog: Catalog;
  readonly volumes: VolumeSet;
  readonly segmentRegistry: SegmentRegistry;
  readonly runs = new RunsCache();
  readonly stores: SegmentStores;
  readonly nodes: NodeActivities;
  readonly access: RecordAccess;
  readonly retrieval: Retrieval;
  readonly resolutionFilter: ResolutionFilter;
  readonly collections: Collections;
  readonly tombstones: Tombstones;
  readonly snapshots: NamedSnapshots;
  readonly sequences: SequenceList;
  readonly takedownLog: TakedownLog;
  /** Maps a digest to the fingerprint that identifies contents: the digest itself, except in tests of collisions. */
  readonly fingerprint: (digest: Uint8Array) => Uint8Array;
  /** Whether the archive is of an earlier version, or its upgrade was interrupted: it is only read. */
  readonly isOld: boolean;
  /** Undefined: this process owns the catalog, and makes every change. */
  readonly cluster: Cluster | undefined;
  readonly #segmentWriter: SegmentWriter | undefined;
  readonly #owner: OwnerFile | undefined;
  readonly #reserve: Reserve | undefined;
  readonly #scratch: Scratch;
  readonly #fallback: MirrorFallback;
  readonly #onFinding: ((finding: Finding) => void) | undefined;
  readonly #exclusive = new Exclusive();
  #connector: Connector;
  #changes = 0;
  #serial = 0;
  /** The reason why changes are refused. Undefined until the archive is being closed. */
  #closed: PinakesError | undefined;

  private constructor(opened: OpenedArchiveOptions) {
    const { directory, connector, owner, catalog, reserve, volumes, settings, options } = opened;
    const { clock, newId, software, fingerprint = (digest) => digest } = options;
    this.directory = directory;
    this.clock = clock;
    this.newId = newId;
    this.stopwatch = options.stopwatch;
    this.software = software;
    this.openRemote = options.openRemote ?? bucketOpener(clock);
    const elapsed = options.stopwatch ?? clock;
    this.catalog = catalog.isShared ? readableCatalog(catalog, elapsed) : catalog;
    shareCounters(this.catalog, catalog);
    this.volumes = volumes;
    this.fingerprint = fingerprint;
    const counters = countersOf(catalog);
    counters.observer = options.onLedgerEvent;
    counters.calls = options.observe;
    this.isOld = isOldArchive(connector, catalog);
    this.#connector = connector;
    this.#owner = owner;
    this.#reserve = reserve;
    this.#scratch = new Scratch(directory, clock());
    this.#onFinding = options.onFinding;
    this.segmentRegistry = new SegmentRegistry(clock, catalog.isShared ? catalog : undefined);
    this.resolutionFilter = new ResolutionFilter(catalog);
    this.nodes = new NodeActivities(clock);
    this.stores = new VolumeStores(volumes, this.nodes);
    this.tombstones = new Tombstones(volumes, catalog);
    this.access = new RecordAccess(this.stores, this.segmentRegistry, catalog, fingerprint);
    this.#fallback = new MirrorFallback(this);
    this.retrieval = new Retrieval(catalog, this.access, fingerprint, this.#fallback);
    this.collections = new Collections(catalog);
    const commit = async (changes: CommitGroup) => void refusalOf(await this.commitGroup(changes));
    this.snapshots = new NamedSnapshots(
      directory,
      catalog.isShared ? { catalog, stores: this.stores, commit } : undefined,
    );
    this.sequences = new SequenceList(directory);
    this.takedownLog = new TakedownLog({
      directory,
      archive: connector.name,
      catalog,
      stores: this.stores,
      clock,
      newId,
    });
    this.cluster = catalog.isShared
      ? new Cluster(this, catalog, settings, options.clusterTimes ?? {}, options.purpose ?? 'open')
      : undefined;
    this.#segmentWriter = this.cluster ? undefined : this.newWriter(undefined);
  }

  /** Takes the archive for this process and opens its parts. When that fails, the catalog is closed again. */
  static async open(directory: string, options: ArchiveOptions): Promise<OpenedArchive> {
    const connector = await readConnector(directory);
    if (connector.catalog !== undefined) return OpenedArchive.#openInCluster(directory, connector, options);
    if (options.catalog?.isShared) return OpenedArchive.#openShared(directory, connector, options.catalog, options);
    await assertTakable(directory);
    const reserve = new Reserve(directory);
    if (connector.version < ARCHIVE_VERSION && !hasCatalog(directory)) {
      // There is nothing to read, and opening would make an empty catalog.
      throw new PinakesError('ARCHIVE_OLD', { where: directory, detail: 'its catalog is missing' });
    }
    const catalog = options.catalog ?? (await openCatalog(directory, reserve));
    try {
      await reserve.giveUpIfShort();
      const owner = await OwnerFile.take(directory, options.purpose ?? 'open', options.clock);
      const isOld = isOldArchive(connector, catalog);
      const settings = connector.volumes.map((setting) => (isOld ? { ...setting, writable: false } : setting));
      const volumes = options.volumes ?? (await VolumeSet.open(directory, settings, options));
      return new OpenedArchive({ directory, connector, owner, catalog, reserve, volumes, options });
    } catch (error) {
      await reserve.takeBack();
      await catalog.close();
      throw error;
    }
  }

  static async #openInCluster(
    directory: string,
    connector: Connector,
    options: ArchiveOptions,
  ): Promise<OpenedArchive> {
    const { catalog, settings } = await openClusterCatalog(directory, connector, options);
    const { catalog: address, id } = connector;
    const whole = {
      ...settings.connector,
      ...(address !== undefined && { catalog: address }),
      ...(id !== undefined && { id }),
    };
    return OpenedArchive.#openShared(directory, whole, catalog, options, settings);
  }

  /** Opens an archive that others have open too: nothing is taken, locked or healed. */
  static async #openShared(
    directory: string,
    connector: Connector,
    catalog: Catalog,
    options: ArchiveOptions,
    settings?: ClusterSettings,
  ): Promise<OpenedArchive> {
    try {
      const cluster = connector.id;
      const volumes = options.volumes ?? (await VolumeSet.open(directory, connector.volumes, { ...options, cluster }));
      return new OpenedArchive({ directory, connector, catalog, volumes, options, ...(settings && { settings }) });
    } catch (error) {
      await catalog.close();
      throw error;
    }
  }

  /** Makes the directory for temporary files, and reads collections, segments and snapshots. */
  async load(): Promise<void> {
    await this.#scratch.open();
    await this.snapshots.load();
    const { damage } = this.snapshots;
    if (damage) {
      const message = `${damage.message}. ${damage.advice}`;
      this.report({ code: 'snapshots-damaged', level: 'error', file: damage.where!, offset: 0, message });
    }
    await this.collections.load();
    const segments = await this.catalog.segments();
    this.segmentRegistry.load(segments);
    this.segmentRegistry.isNew = segments.length === 0;
    this.segmentRegistry.newestSequence = segments.reduce((newest, one) => Math.max(newest, sequenceOf(one)), 0);
  }

  /** A directory for temporary files of this opening alone. */
  get scratch(): string {
    return this.#scratch.path;
  }

  get connector(): Connector {
    return this.#connector;
  }

  async changeConnector(connector: Connector): Promise<void> {
    this.assertTaking();
    if (connector.catalog === undefined) await writeConnector(this.directory, connector);
    else await this.cluster?.change(connector);
    this.#connector = connector;
  }

  /** Called with the settings that another machine has changed. */
  takeConnector(settings: Connector): void {
    const { catalog, id } = this.#connector;
    this.#connector = { ...settings, ...(catalog !== undefined && { catalog }), ...(id !== undefined && { id }) };
  }

  /** The writer of this process. In a cluster, a change has taken its lease before it begins. */
  get segmentWriter(): SegmentWriter {
    return this.#segmentWriter ?? this.cluster!.writer.writer;
  }

  /** Whether a segment may grow now. In a cluster, it may be that of another machine. */
  isWriting(segment: Segment): boolean {
    return this.#segmentWriter ? this.#segmentWriter.isWriting(segment) : segment.state !== 'sealed';
  }

  /** The lease under which this process changes the archive; undefined where the lock of the catalog is the lease. */
  get lease(): Lease | undefined {
    return this.cluster?.writer.lease;
  }

  /** The smallest payload that is shared. With 0, the size of the revisit decides alone. */
  get dedupBytesMin(): number {
    const { dedupBytesMin } = this.#connector.policies;
    return dedupBytesMin === 'auto' ? 0 : dedupBytesMin;
  }

  report(finding: Finding): void {
    this.#onFinding?.(finding);
  }

  /** A writer of segments. Without a lease, the lock of the catalog is its lease. */
  newWriter(lease: Lease | undefined): SegmentWriter {
    return new SegmentWriter({
      catalog: this.catalog,
      stores: this.stores,
      // Tombstones without a segment would delete records of a new segment.
      hasFileOf: (name) => this.tombstones.has(name),
      lease,
      clock: this.clock,
      newId: this.newId,
      software: this.software ?? 'pinakes',
      host: hostname(),
      segmentBytesMax: this.#connector.policies.segmentBytesMax,
      nextSerial: () => this.#serial++,
      graceMs: this.cluster?.graceMs ?? 0,
    });
  }

  newDraft(): CatalogDraft {
    return new CatalogDraft(this.catalog, this.resolutionFilter, {
      keepUnreferenced: this.segmentRegistry.unread.size > 0,
    });
  }

  /** Makes the appended records durable, then commits the draft (I1, I2). Takes back the records of a refused draft. */
  commit(draft: CatalogDraft): Promise<WriteOutcome> {
    return this.commitRecords(draft.group());
  }

  /** Like `commit`, for a group that is not made of a draft. */
  async commitRecords(group: RecordGroup): Promise<WriteOutcome> {
    this.assertTaking();
    const grown = this.segmentWriter.dirty();
    const outcome = await this.segmentWriter.commit(group);
    if (outcome.kind === 'committed') {
      for (const { segment } of grown) this.segmentRegistry.grow(segment);
      // The change is complete at this point. A segment that cannot be sealed now is sealed by the next opening.
      for (const segment of await this.segmentWriter.sealFull()) this.segmentRegistry.grow(segment);
    } else if (outcome.kind === 'unknown' || isFenced(outcome)) {
      // After no answer too: only when the lease ends do others heal the segments that were given up.
      this.cluster?.writer.lose();
    } else if (outcome.kind !== 'fenced') await this.segmentWriter.rollBack();
    return outcome;
  }

  /** The outcome of a try that found its lease lost before there was anything to commit. Throws any other error. */
  fencedBy(error: unknown): WriteOutcome {
    if (!this.cluster || !(error instanceof PinakesError) || error.code !== 'LEASE_LOST') throw error;
    this.cluster.writer.lose();
    return { kind: 'fenced', why: 'lease' };
  }

  /**
   * Whether a group that was refused for its lease, or not answered, is made again: with the same record ids, by which
   * a record that the former try left is recognised (C5). The lease is another one then. Called within `exclusive`.
   */
  async mayRepeat(outcome: WriteOutcome, tried: number): Promise<boolean> {
    if (!this.cluster || tried >= REPEATS_MAX) return false;
    const isUnanswered = outcome.kind === 'unknown' && outcome.error.retryable;
    if (!isUnanswered && !isFenced(outcome)) return false;
    if (isUnanswered) await wait(REPEAT_PAUSE_MS);
    await this.cluster.writer.ready();
    return true;
  }

  /** Commits changes that come without records. */
  async commitGroup(group: CommitGroup): Promise<CommitOutcome> {
    this.assertTaking();
    // A commit without a lease would be taken from a process that was fenced, too.
    if (this.cluster && !this.lease) await this.cluster.writer.ready();
    const { lease } = this;
    const outcome = await commitCounted(this.catalog, lease ? { lease, ...group } : group);
    if (isFenced(outcome) && lease === this.lease) this.cluster?.writer.lose();
    return outcome;
  }

  /** Why the archive is closed, or is being closed. Undefined while it is open. */
  get closed(): PinakesError | undefined {
    return this.#closed;
  }

  /** How many changes were begun or wait for others. Grows while writers are busy. */
  get changes(): number {
    return this.#changes;
  }

  /** Runs one change of the archive, or one reading between two changes, at a time. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#changes++;
    return this.#exclusive.run(async () => {
      if (this.#closed) throw this.#closed;
      // An archive that is only read has snapshots too. Its changes are refused where they begin.
      if (!this.isOld) this.assertTaking();
      await this.cluster?.writer.ready();
      // Maintenance relies on the states of segments that others write.
      if (this.cluster?.isMaintaining) this.segmentRegistry.expire();
      return work();
    });
  }

  /** Runs a reading of one instant. Where others change the archive too, one statement of the catalog is one. */
  still<T>(work: () => Promise<T>): Promise<T> {
    return this.cluster ? work() : this.exclusive(work);
  }

  /** Runs work that writes segments anew, moves or removes them. In a cluster, one process at a time does. */
  maintaining<T>(work: () => Promise<T>): Promise<T> {
    return this.cluster ? this.cluster.maintaining(work) : work();
  }

  /** Runs a change that makes the archive larger. Fails when the disk has too little room for it. */
  growing<T>(work: () => Promise<T>): Promise<T> {
    return this.exclusive(async () => {
      this.assertTaking();
      await this.#reserve?.keep(this.catalog);
      return work();
    });
  }

  /** Runs work that frees room but needs some before that. */
  async freeing<T>(work: () => Promise<T>): Promise<T> {
    this.assertTaking();
    if (this.#reserve) await this.exclusive(() => this.#reserve!.giveUpIfShort());
    return work();
  }

  /** Gives up the reserve until the archive is closed. Returns whether there was one. */
  async giveUpReserve(): Promise<boolean> {
    return (await this.#reserve?.giveUp()) ?? false;
  }

  /** Refuses a change that the catalog would not write, since the change would leave records in the volumes. */
  assertTaking(): void {
    if (this.isOld) throw new PinakesError('ARCHIVE_OLD', { where: this.directory });
    if (this.catalog.refusal) throw this.catalog.refusal;
  }

  async announceServer(server: AnnouncedServer | undefined): Promise<void> {
    await this.#owner?.announce(server);
  }

  /** Waits until the change in progress is complete. */
  idle(): Promise<void> {
    return this.#exclusive.idle();
  }

  /** Refuses every later change, from within the one in progress. */
  retire(reason: PinakesError): void {
    this.#closed = reason;
  }

  /** Finishes the change in progress and refuses every later one with `reason`. */
  async close(reason: PinakesError): Promise<void> {
    this.#closed = reason;
    await this.idle();
    try {
      if (this.cluster) await this.cluster.end();
      else await this.segmentWriter.dropEmpty();
    } finally {
      await this.#closeParts();
    }
  }

  /** Closes every part, whatever happens to the others. */
  async #closeParts(): Promise<void> {
    try {
      await this.#fallback.close();
      await this.volumes.close();
      this.access.close();
      await this.#scratch.close();
      // The owner file belongs to this process only while it holds the lock of the catalog.
      await this.#owner?.release();
      await this.#reserve?.takeBack();
    } finally {
      await this.catalog.close();
    }
  }
}

/** Whether the lease was lost. */
function isFenced(outcome: WriteOutcome): boolean {
  return outcome.kind === 'fenced' && outcome.why !== 'adopting';
}

function isOldArchive({ version }: Connector, { refusal }: Catalog): boolean {
  return version < ARCHIVE_VERSION || refusal?.code === 'ARCHIVE_OLD';
}

/**
 * Opens the catalog, which takes its lock. Before that, only the reserve is touched, and only when the disk is full.
 */
async function openCatalog(directory: string, reserve: Reserve): Promise<Catalog> {
  try {
    return await openLevelCatalog(join(directory, CATALOG_DIRECTORY));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'CATALOG_LOCKED') throw await lockedError(directory, error);
    // The lock was free, otherwise the error would be CATALOG_LOCKED. So no other process uses the reserve.
    if (code !== 'DISK_FULL' || !(await reserve.giveUp())) throw error;
  }
  try {
    return await openCatalog(directory, reserve);
  } catch (error) {
    await reserve.takeBack();
    throw error;
  }
}
