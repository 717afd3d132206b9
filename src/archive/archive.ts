/**
 * The archive as other rooms see it: one method for each thing that can be done with it. The work itself is in the
 * files of this room's folders, which get an `OpenedArchive`. What few commands need is loaded when it is used, so that
 * a command on a small content starts as fast as it can.
 */
import { type Clock, type EpochMs, Exclusive, type IdSource, PinakesError } from '../base/index.ts';
import type { Block, BlockKey, Capture, CaptureQuestion, CaptureRange, Segment, Totals } from '../catalog/index.ts';
import type { Database } from '../database/index.ts';
import { countersOf, type LedgerCounts } from '../ledger/index.ts';
import { formatPageId, type PageId, typedUrl, type UrlKey } from '../url/index.ts';
import type { BucketTraits } from '../volume/index.ts';
import type { AddOptions, AddReport } from './add/add-report.ts';
import type { RebalanceOptions, RebalanceReport } from './balance/rebalance-report.ts';
import type { RecordRestoreOptions, RecordRestoreReport } from './balance/restore.ts';
import { findCaptureById } from './capture-id.ts';
import { type AskedFacts, askedQuery, type CaptureQuery, parseCaptureQuery, type QueryNames } from './capture-query.ts';
import type { Cluster } from './cluster/cluster.ts';
import type { Collections } from './collections.ts';
import type { Connector } from './connector.ts';
import { parseContentKey } from './content-key.ts';
import { type CdxjExportOptions, exportCdxj } from './export/export-cdxj.ts';
import type { ParquetExportOptions, ParquetExportReport } from './export/export-parquet.ts';
import type { WaczExportReport } from './export/export-wacz.ts';
import type { WarcExportOptions, WarcExportReport } from './export/export-warc.ts';
import { HeldContents } from './held-contents.ts';
import type { CompactOptions, CompactReport } from './maintain/compact.ts';
import { type CopiesOptions, type CopiesReport, makeCopies } from './maintain/copies.ts';
import type { DeleteOptions, DeletePreview, DeleteReport } from './maintain/delete.ts';
import { type Examination, examineOpened } from './maintain/doctor.ts';
import type { MigrateOptions, MigrateReport } from './maintain/migrate.ts';
import { listNodes, type NodeStatus } from './maintain/node-status.ts';
import { listSilentParts, type SilentPart } from './maintain/readiness.ts';
import { type RebuildOptions, rebuildCatalog } from './maintain/rebuild.ts';
import type { RecompressOptions, RecompressReport } from './maintain/recompress.ts';
import type { ReleaseOptions } from './maintain/release.ts';
import { type StayingSegments, stayingSegments } from './maintain/staying-segments.ts';
import type { TakedownGround, TakedownInput, TakedownPreview, TakedownReport, Takedowns } from './maintain/takedown.ts';
import {
  type AddVolumeOptions,
  addVolume,
  linkedVolume,
  listVolumes,
  type NewVolume,
  setVolumeWritable,
  takeVolume,
  type VolumeStatus,
  withoutOwnFiles,
} from './maintain/volume-admin.ts';
import { removeVolume } from './maintain/volume-removal.ts';
import { type NewMetadata, storeMetadata } from './metadata.ts';
import { ArchiveMirrors } from './mirror/archive-mirrors.ts';
import type { CatalogCopyOptions, CatalogCopyReport } from './move/catalog-copy.ts';
import type { OpenedArchive } from './opened-archive.ts';
import type { AnnouncedServer } from './owner.ts';
import { LoggedTakedowns } from './proof/logged-takedowns.ts';
import type { CaptureReader, CaptureView } from './read/capture-reader.ts';
import type { RecordReader } from './read/record-access.ts';
import type { CaptureSpan, Retrieved, RetrievedContent, RetrieveOptions } from './read/retrieve.ts';
import { resolveLater } from './revisit/resolve-later.ts';
import { type DeletedRecord, deletedRecords } from './segment/deleted-records.ts';
import type { Selection } from './selection.ts';
import type { ArchiveStats, StatsOptions } from './stats.ts';
import type { NamedSnapshot } from './stream/named-snapshots.ts';
import { PageIndex } from './stream/page-index.ts';
import type { HubQuery, ScanHub } from './stream/scan-hub.ts';
import { RecordStream, type StreamQuery } from './stream/stream.ts';
import { type LineExtension, type StreamPiece, streamJson, streamWarc } from './stream/stream-output.ts';
import { Subscriber, type SubscriberOptions } from './stream/subscriber.ts';
import type { VerifyOptions, VerifyReport } from './verify/verify.ts';
import { type Stored, type StoreInput, type StoreOptions, StoreQueue } from './write/store.ts';

export class Archive implements CaptureReader {
  readonly #mirrors: ArchiveMirrors;
  readonly #takedownLog: LoggedTakedowns;
  readonly #opened: OpenedArchive;
  readonly #pages: PageIndex;
  readonly #store: StoreQueue;
  readonly #held: HeldContents;
  /** Runs one piece of work at a time that writes segments anew, moves them or numbers them. */
  readonly #compactions = new Exclusive();
  #closing: Promise<void> | undefined;

  constructor(opened: OpenedArchive) {
    this.#mirrors = new ArchiveMirrors(opened);
    this.#takedownLog = new LoggedTakedowns(opened);
    this.#opened = opened;
    this.#pages = new PageIndex(opened);
    this.#store = new StoreQueue(opened);
    this.#held = new HeldContents(opened);
  }

  /** Second copies of the archive. */
  get mirrors(): ArchiveMirrors {
    return this.#mirrors;
  }

  /** Who took what down, when and why, and what a search for the bytes found. */
  get takedownLog(): LoggedTakedowns {
    return this.#takedownLog;
  }

  /** Contents that clients store and give back by their digests. */
  get held(): HeldContents {
    return this.#held;
  }

  get directory(): string {
    return this.#opened.directory;
  }

  /** The database of a catalog on PostgreSQL. Frontier, jobs and users of the archive are tables of it too. */
  get database(): Database | undefined {
    return this.#opened.catalog.database;
  }

  get connector(): Connector {
    return this.#opened.connector;
  }

  /** Whether the archive is of an earlier version, and so is only read. */
  get isOld(): boolean {
    return this.#opened.isOld;
  }

  get clock(): Clock {
    return this.#opened.clock;
  }

  get newId(): IdSource {
    return this.#opened.newId;
  }

  get software(): string | undefined {
    return this.#opened.software;
  }

  /** Memory in bytes for the process that reads PDF and office documents, when the connector sets it. */
  get documentMemory(): number | undefined {
    return this.connector.index?.documentMemory;
  }

  /** A directory for temporary files of this opening alone, which is removed when the archive is closed. */
  get scratch(): string {
    return this.#opened.scratch;
  }

  /** Collections by name and number. */
  get collections(): Pick<Collections, 'all' | 'check' | 'find' | 'name' | 'number'> {
    return this.#opened.collections;
  }

  /**
   * Fails when the disk of the archive is too full for the archive to grow. Work that writes beside the segments, such
   * as indexing, calls this first.
   */
  keepRoom(): Promise<void> {
    return this.#opened.growing(async () => {});
  }

  store(input: StoreInput, options: StoreOptions = {}): Promise<Stored> {
    return this.#store.store(input, options);
  }

  /** Stores a metadata record in a collection. Returns its id. */
  storeMetadata(metadata: NewMetadata, options: { collection?: string; volume?: string } = {}): Promise<string> {
    return storeMetadata(this.#opened, metadata, options);
  }

  /** Adds WARC, ARC and WACZ files: copies new records, or with `inPlace` makes files or addresses segments. */
  async add(wanted: readonly string[], options: AddOptions & { readonly inPlace?: boolean } = {}): Promise<AddReport> {
    const archive = this.#opened;
    // Checked once here. Otherwise an invalid name would be reported for every file.
    if (options.collection !== undefined) archive.collections.check(options.collection);
    await this.keepRoom();
    const files = await withoutOwnFiles(archive, wanted, options.remote);
    const report = options.inPlace
      ? await this.#maintain(async () => {
          const { addInPlace } = await import('./add/add-in-place.ts');
          return addInPlace(archive, await linkedVolume(archive), files, options);
        })
      : await (await import('./add/add-input.ts')).addInputs(archive, files, options);
    const resolved = await archive.exclusive(() => resolveLater(archive));
    const filesOwn = wanted.length - files.length;
    return { ...report, filesOwn, unresolved: Math.max(0, report.unresolved - resolved) };
  }

  /** Parses a query on facts of captures, for the `query` of a selection. An error marks the place in the text. */
  async query(text: string): Promise<CaptureQuery> {
    return parseCaptureQuery(text, await this.#queryNames());
  }

  /** One query from a query text, a status and a media type. Undefined when none of them is given. */
  async askedQuery(asked: AskedFacts): Promise<CaptureQuery | undefined> {
    return askedQuery(asked, await this.#queryNames());
  }

  async #queryNames(): Promise<QueryNames> {
    const numbers = new Map((await this.collections.all()).map(({ name, number }) => [name, number]));
    return { collection: (name) => numbers.get(name) };
  }

  /** Counts what a deletion would remove, from the current captures or from those of the view `seen`. */
  async previewDelete(selection: Selection, options: DeleteOptions = {}): Promise<DeletePreview> {
    const { previewDelete } = await import('./maintain/delete.ts');
    await using view = options.seen ? undefined : await this.view();
    return await previewDelete(this.scratch, selection, options.seen ?? view!, options);
  }

  async delete(selection: Selection, options: DeleteOptions = {}): Promise<DeleteReport> {
    const { deleteCaptures } = await import('./maintain/delete.ts');
    return this.#opened.freeing(() => deleteCaptures(this.#opened, selection, options));
  }

  /**
   * The capture that `release` would delete. Throws CONTENT_HAS_URLS when only captures of URLs have the content, and
   * lists them.
   */
  async referenceOf(key: string): Promise<Capture> {
    const { referenceOf } = await import('./maintain/release.ts');
    return referenceOf(this.#opened.catalog, parseContentKey(key));
  }

  /** Gives back one reference of a content: deletes the newest capture of it that was stored without a URL. */
  async release(key: string, options: ReleaseOptions = {}): Promise<DeleteReport> {
    const { releaseContent } = await import('./maintain/release.ts');
    return this.#opened.freeing(() => releaseContent(this.#opened, parseContentKey(key), options));
  }

  /** What a takedown would bar and delete. */
  async previewTakedown(input: TakedownInput): Promise<TakedownPreview> {
    const { previewTakedown } = await import('./maintain/takedown.ts');
    await using view = await this.view();
    return await previewTakedown(view, input);
  }

  /**
   * Bars contents and URLs for good, deletes their captures, and enters it in the log of takedowns. The next compaction
   * removes the bytes.
   */
  async takeDown(input: TakedownInput, ground: TakedownGround): Promise<TakedownReport> {
    const { carryOutTakedown } = await import('./maintain/takedown.ts');
    return this.#opened.freeing(() => carryOutTakedown(this.#opened, input, ground));
  }

  /** What is barred, and where bytes of it may still be. */
  async takedowns(): Promise<Takedowns> {
    const { listTakedowns } = await import('./maintain/takedown.ts');
    return listTakedowns(this.#opened);
  }

  /** Segments with deleted records that a compaction would leave unchanged. */
  previewCompact(): Promise<StayingSegments> {
    return stayingSegments(this.#opened);
  }

  async compact(options: CompactOptions = {}): Promise<CompactReport> {
    const { compactArchive } = await import('./maintain/compact.ts');
    return this.#maintain(async () => {
      const report = await this.#opened.freeing(() => compactArchive(this.#opened, options));
      if (!this.#opened.cluster) return report;
      const { mergeSegments } = await import('./balance/merge.ts');
      return { ...report, merged: await mergeSegments(this.#opened, options) };
    });
  }

  /**
   * Writes segments anew as `.warc.zst`, each with a dictionary of its own. Open segments are sealed first. With
   * `dryRun`, the result is estimated from samples.
   */
  async recompress(options: RecompressOptions & { readonly dryRun?: boolean } = {}): Promise<RecompressReport> {
    const { estimateRecompression, recompressArchive } = await import('./maintain/recompress.ts');
    if (options.dryRun) return estimateRecompression(this.#opened, options);
    return this.#maintain(() => this.#opened.freeing(() => recompressArchive(this.#opened, options)));
  }

  /** A view of the captures at this moment. Later changes are not visible in it, unless it `isLong` (CatalogView). */
  view({ isLong = false } = {}): Promise<CaptureView & AsyncDisposable> {
    return isLong ? this.#opened.catalog.longView() : this.#opened.catalog.view();
  }

  captures(range: CaptureRange, pageSize?: number): AsyncIterable<Capture[]> {
    return this.#opened.catalog.captures(range, pageSize);
  }

  capturesOf(key: UrlKey): Promise<readonly Capture[] | undefined> {
    return this.#opened.catalog.capturesOf(key);
  }

  findCaptures(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]> {
    return this.#opened.catalog.findCaptures(questions);
  }

  nearest(key: UrlKey, time: EpochMs, side?: 'either' | 'notAfter'): Promise<Capture | undefined> {
    return this.#opened.catalog.nearest(key, time, side);
  }

  getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]> {
    return this.#opened.catalog.getBlocks(keys);
  }

  blocks(pageSize?: number): AsyncIterable<Block[]> {
    return this.#opened.catalog.blocks(pageSize);
  }

  totals(): Promise<Totals> {
    return this.#opened.catalog.totals();
  }

  /** Reads single records by their places. */
  get records(): RecordReader {
    return this.#opened.access;
  }

  /** The captures of a URL and of all other URLs with the same key, in order of time. */
  capturesOfUrl(url: string, span: CaptureSpan = {}): AsyncGenerator<Capture> {
    return this.#opened.retrieval.captures(url, span);
  }

  /** The capture of a URL that is nearest to a time, or the latest; with `notAfter`, not after that time. */
  findCapture(url: string, at?: EpochMs, side?: 'either' | 'notAfter'): Promise<Capture | undefined> {
    const { retrieval } = this.#opened;
    const typed = typedUrl(url);
    return at === undefined ? retrieval.latest(typed) : retrieval.nearest(typed, at, side);
  }

  /** Finds a capture like `findCapture` and opens it. */
  async get(url: string, at?: EpochMs, options: RetrieveOptions = {}): Promise<Retrieved> {
    const capture = await this.findCapture(url, at);
    if (!capture) throw new PinakesError('CONTENT_MISSING', { where: url });
    return this.#opened.retrieval.open(capture, options);
  }

  /** The capture with an id that `captureId` made, even if its record was moved. Undefined when it was deleted. */
  captureById(id: string): Promise<Capture | undefined> {
    return findCaptureById(this.#opened.catalog, id);
  }

  /** The capture of the page with this id that is nearest to a time, or the latest. */
  async getPage(id: PageId, at?: EpochMs, options: RetrieveOptions = {}): Promise<Retrieved> {
    const capture = await this.#pages.find(id, at);
    if (!capture) throw new PinakesError('CONTENT_MISSING', { where: `page ${formatPageId(id)}` });
    return this.#opened.retrieval.open(capture, options);
  }

  open(capture: Capture): Promise<Retrieved> {
    return this.#opened.retrieval.open(capture);
  }

  /** Opens a content by its key. */
  content(key: string, options: RetrieveOptions = {}): Promise<RetrievedContent> {
    return this.#opened.retrieval.content(parseContentKey(key), options);
  }

  /** Makes the next reads come from the segments. */
  forgetRecentRecords(): void {
    this.#opened.retrieval.forget();
  }

  /** What happened in the ledger since the archive was opened. */
  get ledgerCounts(): LedgerCounts {
    return countersOf(this.#opened.catalog).counts;
  }

  /** Looks for problems in segments and catalog. Each problem is passed to `onProblem` when it is found. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const { verifyArchive } = await import('./verify/verify.ts');
    return verifyArchive(this.#opened, options);
  }

  /** What the archive has open and what waits in it. Changes nothing, and waits for no change. */
  examine(): Promise<Examination> {
    return examineOpened(this.#opened);
  }

  listVolumes(): Promise<VolumeStatus[]> {
    return listVolumes(this.#opened);
  }

  /** The volumes with what each does at present. */
  nodes(): Promise<NodeStatus[]> {
    return listNodes(this.#opened);
  }

  /** The catalog and the volumes that do not answer. Asks each of them, for 3 seconds at most. */
  silentParts(): Promise<SilentPart[]> {
    return listSilentParts(this.#opened);
  }

  /**
   * Adds a volume and catalogues the segments in it. When the signal aborts this, the next opening of the archive
   * catalogues the rest.
   */
  async addVolume(volume: NewVolume, options: AddVolumeOptions = {}): Promise<BucketTraits | undefined> {
    this.#opened.assertTaking();
    // Adding a volume heals the archive, which would remove a segment that a compaction is writing.
    return this.#maintain(() => addVolume(this.#opened, volume, options));
  }

  /** Takes a bucket from another archive. False: others have to be taken too before the catalog is made again. */
  async takeVolume(name: string, options: RebuildOptions = {}): Promise<boolean> {
    this.#opened.assertTaking();
    return this.#maintain(() => takeVolume(this.#opened, name, options));
  }

  async setVolumeWritable(name: string, writable: boolean): Promise<void> {
    this.#opened.assertTaking();
    return this.#maintain(() => setVolumeWritable(this.#opened, name, writable));
  }

  /** Removes an empty volume from the archive. Its directory stays. */
  async removeVolume(name: string): Promise<void> {
    this.#opened.assertTaking();
    return this.#maintain(() => removeVolume(this.#opened, name));
  }

  /** Moves all segments of a volume to another one. With `dryRun`, only reports what would be moved. */
  async migrate(from: string, to: string, options: MigrateOptions = {}): Promise<MigrateReport> {
    const { migrateVolume } = await import('./maintain/migrate.ts');
    const migrate = () => this.#opened.freeing(() => migrateVolume(this.#opened, from, to, options));
    return this.#maintain(() => this.#moving(options.dryRun ? [] : [from, to], migrate));
  }

  /** Brings records to the volumes that the policy chooses. With `dryRun`, only reports what would be moved. */
  async rebalance(options: RebalanceOptions = {}): Promise<RebalanceReport> {
    const { rebalanceArchive: rebalance } = await import('./balance/rebalance.ts');
    const names = options.dryRun ? [] : this.#opened.volumes.writable().map(({ name }) => name);
    const run = () => this.#opened.freeing(() => rebalance(this.#opened, options));
    return this.#maintain(() => this.#moving(names, run));
  }

  /** One at a time, on this machine and in the cluster. */
  #maintain<T>(work: () => Promise<T>): Promise<T> {
    return this.#compactions.run(() => this.#opened.maintaining(work));
  }

  #moving<T>(volumes: readonly string[], work: () => Promise<T>): Promise<T> {
    return this.#opened.nodes.moving(volumes, work);
  }

  /** Makes the copies that the policy `copies` asks for. With `dryRun`, only reports what would be copied. */
  makeCopies(options: CopiesOptions = {}): Promise<CopiesReport> {
    return this.#maintain(() => makeCopies(this.#opened, options));
  }

  /** Restores damaged and lost records from copies of them. */
  async restore(options: RecordRestoreOptions = {}): Promise<RecordRestoreReport> {
    const { restoreRecords } = await import('./balance/restore.ts');
    return this.#maintain(() => restoreRecords(this.#opened, options));
  }

  /** The records of a snapshot, each exactly once, from the beginning or from a cursor. */
  stream(query: StreamQuery = {}): Promise<RecordStream> {
    return RecordStream.open(this.#opened, query);
  }

  /** The records of a stream as the bytes of a WARC file. */
  streamWarc(query: StreamQuery = {}): AsyncGenerator<StreamPiece> {
    return streamWarc(this.#opened, query);
  }

  /** The records of a stream as JSON lines that describe them. */
  streamJson(query: StreamQuery = {}, extend?: LineExtension): AsyncGenerator<StreamPiece> {
    return streamJson(this.#opened, query, extend);
  }

  /** A stream whose records are read together with the other subscribers of the hub. */
  subscribe(hub: ScanHub, wanted: HubQuery, options: SubscriberOptions = {}): Promise<Subscriber> {
    return Subscriber.open(this.#opened, hub, wanted, options);
  }

  /** Durably records the segments that the archive has now, under a name. Compaction leaves these unchanged. */
  async createSnapshot(name: string): Promise<NamedSnapshot> {
    this.#opened.assertTaking();
    return this.#opened.snapshots.create(this.#opened, name);
  }

  listSnapshots(): readonly NamedSnapshot[] {
    return this.#opened.snapshots.all();
  }

  async removeSnapshot(name: string): Promise<void> {
    this.#opened.assertTaking();
    return this.#opened.snapshots.remove(name);
  }

  async exportWarc(selection: Selection, path: string, options: WarcExportOptions): Promise<WarcExportReport> {
    const { exportWarc } = await import('./export/export-warc.ts');
    return exportWarc(this.#opened, selection, path, options);
  }

  async exportWacz(selection: Selection, path: string, options: WarcExportOptions): Promise<WaczExportReport> {
    const { exportWacz } = await import('./export/export-wacz.ts');
    return exportWacz(this.#opened, selection, path, options);
  }

  /** Index lines of the selected captures, as CDXJ unless another format is given. */
  exportCdxj(
    selection: Selection,
    format?: Parameters<typeof exportCdxj>[2],
    options: CdxjExportOptions = {},
  ): AsyncGenerator<string> {
    return exportCdxj(this.#opened, selection, format, options);
  }

  async exportParquet(
    selection: Selection,
    path: string,
    options: ParquetExportOptions = {},
  ): Promise<ParquetExportReport> {
    const { exportParquet } = await import('./export/export-parquet.ts');
    return exportParquet(this.#opened, selection, path, options);
  }

  async stats(options: StatsOptions = {}): Promise<ArchiveStats> {
    const { archiveStats } = await import('./stats.ts');
    return archiveStats(this.#opened, options);
  }

  /** All segments with a committed record, in the order of their creation. */
  async segments(): Promise<Segment[]> {
    return (await this.#opened.segmentRegistry.all()).filter(({ bytes }) => bytes > 0);
  }

  /** The deleted records that are still in a segment. Compaction removes them. */
  deletedRecords(segment: Segment): Promise<DeletedRecord[]> {
    return deletedRecords(this.#opened, segment);
  }

  /** The bytes of a segment from `from` to `to`, which is exclusive. */
  async *segmentBytes(name: string, from?: number, to?: number): AsyncGenerator<Uint8Array> {
    const segment = await this.#opened.segmentRegistry.byName(name);
    if (!segment) throw new PinakesError('CONTENT_MISSING', { where: `segment ${name}` });
    yield* this.#opened.stores.get(segment.volume).stream(segment, from ?? 0, to ?? segment.bytes);
  }

  /** Names of the segments that could not be read to their end when the archive was opened. */
  get unreadSegments(): ReadonlySet<string> {
    return this.#opened.segmentRegistry.unread;
  }

  /** How many rebuilds this process began. While one is under way, the catalog does not have all captures. */
  get rebuilds(): number {
    return this.#opened.segmentRegistry.rebuilds;
  }

  /** The number of this life of the catalog (R2). */
  incarnation(): Promise<number> {
    return this.#opened.catalog.incarnation();
  }

  /** Creates the catalog again from the segments. After an interruption, the next opening completes it. */
  async rebuild(options: RebuildOptions = {}): Promise<void> {
    this.#opened.assertTaking();
    const run = () => rebuildCatalog(this.#opened, options);
    // In a cluster, a rebuild ends every lease, and has one of its own.
    return this.#opened.cluster ? this.#compactions.run(run) : this.#maintain(run);
  }

  /** Waits for all changes requested so far and makes the catalog durable. Stores do not need this (I2). */
  async flush(): Promise<void> {
    await this.#store.drain();
    await this.#opened.idle();
    if (!this.isOld) await this.#opened.catalog.commit({ durable: true });
  }

  /** What only an archive in a cluster has: adopting what is in the volumes after the database went back. */
  get cluster(): Pick<Cluster, 'adopt' | 'heal' | 'trust'> | undefined {
    return this.#opened.cluster;
  }

  /**
   * Moves the archive into a cluster: copies its catalog into the database at this address. Then only `close` can be
   * called, and the next opening is in the cluster.
   */
  async copyToCluster(address: string, options: CatalogCopyOptions = {}): Promise<CatalogCopyReport> {
    if (this.#opened.cluster)
      throw new PinakesError('BAD_ARGUMENT', { where: 'catalog copy', detail: 'the archive is in a cluster already' });
    this.#opened.assertTaking();
    await this.#store.drain();
    const { copyToCluster } = await import('./move/catalog-copy.ts');
    return this.#maintain(() => copyToCluster(this.#opened, address, options));
  }

  /** Publishes the address of a server that has this archive open. `undefined` withdraws the address. */
  announceServer(server: AnnouncedServer | undefined): Promise<void> {
    return this.#opened.announceServer(server);
  }

  /** Completes waiting stores and the change in progress. Longer work fails with ARCHIVE_CLOSED at its next step. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new PinakesError('ARCHIVE_CLOSED', { where: this.directory });
    await this.#store.close(closed);
    await this.#opened.close(closed);
  }
}
