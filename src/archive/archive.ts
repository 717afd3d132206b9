/**
 * An archive: opened, owned by this process, ready for everything that is done with one. This file joins the parts;
 * each part has a file of its own. Changes run one at a time, through `exclusive`; reading goes on beside them.
 */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type Clock, type EpochMs, type Finding, type IdSource, PinakesError } from '../base/index.ts';
import {
  type Block,
  type BlockKey,
  type Capture,
  type CaptureQuestion,
  type CaptureRange,
  type Catalog,
  openLevelCatalog,
  type Segment,
  type Totals,
} from '../catalog/index.ts';
import { formatPageId, type PageId, typedUrl, type UrlKey } from '../url/index.ts';
import type { AddOptions, AddReport } from './add/add.ts';
import { addInPlace } from './add/add-in-place.ts';
import { addInputs } from './add/add-input.ts';
import { findCaptureById } from './capture-id.ts';
import { type AskedFacts, askedQuery, type CaptureQuery, parseCaptureQuery } from './capture-query.ts';
import { Collections } from './collections.ts';
import {
  CONNECTOR_NAME,
  type Connector,
  DEFAULT_CRAWL,
  DEFAULT_POLICIES,
  MAIN_VOLUME,
  type Policies,
  readConnector,
  writeConnector,
} from './connector.ts';
import { parseContentKey } from './content-key.ts';
import { Exclusive } from './exclusive.ts';
import { type CdxjExportOptions, exportCdxj } from './export/export-cdxj.ts';
import type { ParquetExportOptions, ParquetExportReport } from './export/export-parquet.ts';
import { exportWacz, type WaczExportReport } from './export/export-wacz.ts';
import { exportWarc, type WarcExportOptions, type WarcExportReport } from './export/export-warc.ts';
import { CATALOG_DIRECTORY } from './maintain/catalog-soundness.ts';
import {
  type CompactOptions,
  type CompactReport,
  compactArchive,
  type StayingSegments,
  stayingSegments,
} from './maintain/compact.ts';
import {
  type DeleteOptions,
  type DeletePreview,
  type DeleteReport,
  deleteCaptures,
  previewDelete,
} from './maintain/delete.ts';
import { healArchive } from './maintain/heal.ts';
import { type MigrateOptions, type MigrateReport, migrateVolume } from './maintain/migrate.ts';
import {
  estimateRecompression,
  type RecompressOptions,
  type RecompressReport,
  recompressArchive,
} from './maintain/recompress.ts';
import { type VerifyOptions, type VerifyReport, verifyArchive } from './maintain/verify.ts';
import {
  type AddVolumeOptions,
  addVolume,
  linkedVolume,
  listVolumes,
  type NewVolume,
  setVolumeWritable,
  type VolumeStatus,
  withoutOwnFiles,
} from './maintain/volume-admin.ts';
import { removeVolume } from './maintain/volume-removal.ts';
import { type NewMetadata, storeMetadata } from './metadata.ts';
import { type AnnouncedServer, assertTakable, lockedError, OwnerFile } from './owner.ts';
import type { CaptureReader } from './read/capture-reader.ts';
import { RecordAccess, type RecordReader } from './read/record-access.ts';
import {
  type CaptureSpan,
  Retrieval,
  type Retrieved,
  type RetrievedContent,
  type RetrieveOptions,
} from './read/retrieve.ts';
import { Reserve } from './reserve.ts';
import { CatalogDraft } from './revisit/catalog-draft.ts';
import { ResolutionFilter } from './revisit/resolution-filter.ts';
import { resolveLater } from './revisit/resolve-later.ts';
import { makeDirectory } from './segment/made-directory.ts';
import { SegmentRegistry } from './segment/segment-registry.ts';
import { Tombstones } from './segment/tombstones.ts';
import { volumeChoice } from './segment/volume-choice.ts';
import { createVolume, VolumeSet } from './segment/volume-set.ts';
import type { Selection } from './selection.ts';
import { type ArchiveStats, archiveStats, type StatsOptions } from './stats.ts';
import { NamedSnapshots } from './stream/named-snapshots.ts';
import { PageIndex } from './stream/page-index.ts';
import { RecordStream, type StreamParts, type StreamQuery } from './stream/stream.ts';
import { type StreamPiece, streamJson, streamWarc } from './stream/stream-output.ts';
import type { CataloguingParts } from './write/cataloguing.ts';
import { type Stored, type StoreInput, type StoreOptions, StoreQueue } from './write/store.ts';

const SPOOL_DIRECTORY = 'spool';

export type ArchiveOptions = {
  readonly clock: Clock;
  readonly newId: IdSource;
  /**
   * Milliseconds that run evenly, as `performance.now` gives them. With it, retrieval from a fast disk does not wait
   * for other threads.
   */
  readonly stopwatch?: (() => number) | undefined;
  /** What the archive is opened for, for the owner file. */
  readonly purpose?: string;
  /** `pinakes/0.1.0`, as written into segments. */
  readonly software?: string;
  readonly onFinding?: (finding: Finding) => void;
  /** Told of every segment that opening had to read, because the catalog did not know it as it is. */
  readonly onOpening?: (segment: Segment) => void;
  /** Breaks the opening off; the next one goes on where it was. */
  readonly signal?: AbortSignal | undefined;
  /** For tests: other volumes, another catalog, weaker fingerprints. */
  readonly volumes?: VolumeSet;
  readonly catalog?: Catalog;
  readonly fingerprint?: (digest: Uint8Array) => Uint8Array;
};

export type InitOptions = { readonly name?: string; readonly policies?: Partial<Policies> };

/** Makes an archive in a directory that has none. */
export async function createArchive(directory: string, options: InitOptions = {}): Promise<void> {
  if (directory === '') throw new PinakesError('BAD_ARGUMENT', { where: "''", detail: 'name the directory to make' });
  await makeDirectory(directory);
  const exists = await stat(join(directory, CONNECTOR_NAME)).then(
    () => true,
    () => false,
  );
  if (exists) throw new PinakesError('ARCHIVE_EXISTS', { where: directory });
  await createVolume(directory, MAIN_VOLUME);
  const name = options.name ?? basename(resolve(directory));
  await writeConnector(directory, {
    name,
    volumes: [MAIN_VOLUME],
    policies: { ...DEFAULT_POLICIES, ...options.policies },
    crawl: DEFAULT_CRAWL,
  });
}

/** Opens an archive and heals what a crash may have left (I3). */
export async function openArchive(directory: string, options: ArchiveOptions): Promise<Archive> {
  const connector = await readConnector(directory);
  await assertTakable(directory);
  const reserve = new Reserve(directory);
  const catalog = options.catalog ?? (await openCatalog(directory, reserve));
  return Archive.open(directory, connector, catalog, reserve, options);
}

/**
 * Opens the catalog, and so takes its lock, before anything else is touched but the reserve, which a full disk costs.
 */
async function openCatalog(directory: string, reserve: Reserve): Promise<Catalog> {
  try {
    return await openLevelCatalog(join(directory, CATALOG_DIRECTORY));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'CATALOG_LOCKED') throw await lockedError(directory, error);
    // The lock was had, or this would not have been tried: the reserve is nobody else's.
    if (code !== 'DISK_FULL' || !(await reserve.giveUp())) throw error;
  }
  try {
    return await openCatalog(directory, reserve);
  } catch (error) {
    await reserve.takeBack();
    throw error;
  }
}

type RebuildOptions = {
  readonly signal?: AbortSignal;
  readonly onProgress?: (segment: Segment) => void;
  /** Told of what is wrong in the segments, besides the one that the archive was opened with. */
  readonly onFinding?: (finding: Finding) => void;
};

export class Archive implements StreamParts, CaptureReader {
  readonly directory: string;
  readonly catalog: Catalog;
  readonly volumes: VolumeSet;
  readonly segmentRegistry: SegmentRegistry;
  readonly access: RecordAccess;
  readonly resolutionFilter = new ResolutionFilter();
  readonly collections: Collections;
  readonly tombstones: Tombstones;
  readonly snapshots: NamedSnapshots;
  readonly options: ArchiveOptions;
  readonly retrieval: Retrieval;
  readonly pages = new PageIndex(this);
  readonly #owner: OwnerFile;
  readonly #reserve: Reserve;
  readonly #exclusive = new Exclusive();
  readonly #compactions = new Exclusive();
  readonly #store: StoreQueue;
  #connector: Connector;
  /** Why nothing is begun any more, once the archive is being closed. */
  #closed: PinakesError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    directory: string,
    connector: Connector,
    owner: OwnerFile,
    catalog: Catalog,
    reserve: Reserve,
    volumes: VolumeSet,
    options: ArchiveOptions,
  ) {
    this.directory = directory;
    this.#connector = connector;
    this.#owner = owner;
    this.catalog = catalog;
    this.#reserve = reserve;
    this.volumes = volumes;
    this.options = options;
    const { clock, newId, software = 'pinakes' } = options;
    this.segmentRegistry = new SegmentRegistry({ volumes, policies: connector.policies, clock, newId, software });
    this.access = new RecordAccess(volumes, this.segmentRegistry, catalog, (digest) => this.fingerprint(digest));
    this.collections = new Collections(catalog);
    this.tombstones = new Tombstones(volumes, catalog);
    this.snapshots = new NamedSnapshots(directory);
    this.retrieval = new Retrieval(catalog, this.access, (digest) => this.fingerprint(digest));
    this.#store = new StoreQueue(this.#writingParts());
  }

  /** The catalog is closed with the archive, and when that cannot be opened. */
  static async open(
    directory: string,
    connector: Connector,
    catalog: Catalog,
    reserve: Reserve,
    options: ArchiveOptions,
  ): Promise<Archive> {
    let archive: Archive | undefined;
    try {
      await reserve.giveUpIfShort();
      const owner = await OwnerFile.take(directory, options.purpose ?? 'open', options.clock);
      const volumes = options.volumes ?? (await VolumeSet.open(directory, connector.volumes, options));
      archive = new Archive(directory, connector, owner, catalog, reserve, volumes, options);
      await archive.#load();
      return archive;
    } catch (error) {
      if (!archive) await reserve.takeBack();
      await (archive ?? catalog).close();
      throw error;
    }
  }

  async #load(): Promise<void> {
    const spool = join(this.directory, SPOOL_DIRECTORY);
    await mkdir(spool, { recursive: true });
    for (const left of await readdir(spool)) await rm(join(spool, left), { recursive: true, force: true });
    await this.snapshots.load();
    const { damage } = this.snapshots;
    if (damage) {
      const message = `${damage.message}. ${damage.advice}`;
      this.report({ code: 'snapshots-damaged', level: 'error', file: damage.where!, offset: 0, message });
    }
    await this.collections.load();
    this.segmentRegistry.load(await this.catalog.segments());
    await healArchive(this, this.cataloguingParts(this.options.signal), this.options.onOpening);
    await resolveLater(this);
  }

  get clock(): Clock {
    return this.options.clock;
  }

  get newId(): IdSource {
    return this.options.newId;
  }

  report(finding: Finding): void {
    this.options.onFinding?.(finding);
  }

  get connector(): Connector {
    return this.#connector;
  }

  get documentMemory(): number | undefined {
    return this.#connector.index?.documentMemory;
  }

  async changeConnector(connector: Connector): Promise<void> {
    await writeConnector(this.directory, connector);
    this.#connector = connector;
  }

  fingerprint(digest: Uint8Array): Uint8Array {
    return this.options.fingerprint ? this.options.fingerprint(digest) : digest;
  }

  cataloguingParts(signal?: AbortSignal): CataloguingParts {
    return {
      catalog: this.catalog,
      resolutionFilter: this.resolutionFilter,
      volumes: this.volumes,
      access: this.access,
      fingerprint: (digest) => this.fingerprint(digest),
      onFinding: this.options.onFinding,
      signal,
    };
  }

  newDraft(): CatalogDraft {
    return new CatalogDraft(this.catalog, this.resolutionFilter, {
      keepUnreferenced: this.segmentRegistry.unread.size > 0,
    });
  }

  /** Makes what was appended durable, then lets the catalog take the draft (I1, I2). */
  async commit(draft: CatalogDraft): Promise<void> {
    this.#assertTaking();
    const segments = await this.segmentRegistry.sync();
    for (const segment of segments) draft.putSegment(segment);
    try {
      await this.catalog.write(draft.batch());
    } catch (error) {
      // It may have been taken all the same: the next opening says.
      this.segmentRegistry.abandon(segments);
      throw error;
    }
    this.segmentRegistry.settle(segments);
    // What was asked for is done: that the catalog does not hear of the sealing costs nobody anything.
    const sealed = await this.segmentRegistry.retireFull();
    if (sealed.length > 0) await this.catalog.write({ putSegments: sealed }).catch(() => {});
  }

  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#exclusive.run(() => {
      if (this.#closed) throw this.#closed;
      this.#assertTaking();
      return work();
    });
  }

  /** Runs a change that lets the archive grow. */
  #growing<T>(work: () => Promise<T>): Promise<T> {
    return this.exclusive(async () => {
      await this.#reserve.keep(this.catalog);
      return work();
    });
  }

  /**
   * Fails when the disk of the archive is too full for it to grow. What writes beside the segments, as an index does,
   * asks before it begins.
   */
  keepRoom(): Promise<void> {
    return this.#growing(async () => {});
  }

  /** Runs what makes room, though it takes some first. */
  async #makingRoom<T>(work: () => Promise<T>): Promise<T> {
    await this.exclusive(() => this.#reserve.giveUpIfShort());
    return work();
  }

  giveUpReserve(): Promise<boolean> {
    return this.#reserve.giveUp();
  }

  /** No change is begun that the catalog would not take: it would only leave traces in the volumes. */
  #assertTaking(): void {
    if (this.catalog.refusal) throw this.catalog.refusal;
  }

  #writingParts() {
    const { dedupBytesMin } = this.#connector.policies;
    return {
      directory: join(this.directory, SPOOL_DIRECTORY),
      catalog: this.catalog,
      segmentRegistry: this.segmentRegistry,
      access: this.access,
      collections: this.collections,
      newId: this.options.newId,
      dedupBytesMin: dedupBytesMin === 'auto' ? 0 : dedupBytesMin,
      fingerprint: (digest: Uint8Array) => this.fingerprint(digest),
      volumeChoice: () => volumeChoice(this.volumes),
      exclusive: <T>(work: () => Promise<T>) => this.#growing(work),
      newDraft: () => this.newDraft(),
      commit: (draft: CatalogDraft) => this.commit(draft),
      rollBack: () => this.segmentRegistry.rollBack(),
    };
  }

  store(input: StoreInput, options: StoreOptions = {}): Promise<Stored> {
    return this.#store.store(input, options);
  }

  /** Keeps a metadata record with a collection; gives its id. */
  storeMetadata(metadata: NewMetadata, options: { collection?: string; volume?: string } = {}): Promise<string> {
    return storeMetadata(this.#writingParts(), metadata, options);
  }

  /** Takes WARC, ARC and WACZ files in: by copying what is new, or, `inPlace`, as read-only segments where they lie. */
  async add(wanted: readonly string[], options: AddOptions & { readonly inPlace?: boolean } = {}): Promise<AddReport> {
    // Before any file, each of which would be refused for it.
    if (options.collection !== undefined) this.collections.check(options.collection);
    await this.keepRoom();
    const files = await withoutOwnFiles(this, wanted);
    const report = options.inPlace
      ? await this.#compactions.run(async () => addInPlace(this, await linkedVolume(this), files, options))
      : await addInputs(this.#writingParts(), files, options);
    const resolved = await this.exclusive(() => resolveLater(this));
    const filesOwn = wanted.length - files.length;
    return { ...report, filesOwn, unresolved: Math.max(0, report.unresolved - resolved) };
  }

  /**
   * A query on facts of captures, for the `query` of a selection. One that cannot be read is refused with the place
   * marked.
   */
  query(text: string): CaptureQuery {
    return parseCaptureQuery(text, { collection: (name) => this.collections.find(name) });
  }

  /** The same of what is asked in parts: a query, a status, a media type. Undefined when nothing is asked. */
  askedQuery(asked: AskedFacts): CaptureQuery | undefined {
    return askedQuery(asked, { collection: (name) => this.collections.find(name) });
  }

  /** What a deletion would take, of what there is now or of what `seen` has. */
  async previewDelete(selection: Selection, options: DeleteOptions = {}): Promise<DeletePreview> {
    await using view = options.seen ? undefined : await this.catalog.view();
    return await previewDelete(this, selection, options.seen ?? view!, options);
  }

  delete(selection: Selection, options: DeleteOptions = {}): Promise<DeleteReport> {
    return this.#makingRoom(() => deleteCaptures(this, selection, options));
  }

  /** Segments with deleted records that a compaction would leave as they are. */
  previewCompact(): StayingSegments {
    return stayingSegments(this);
  }

  compact(options: CompactOptions = {}): Promise<CompactReport> {
    return this.#compactions.run(() => this.#makingRoom(() => compactArchive(this, options)));
  }

  /**
   * Packs segments as `.warc.zst`, each with a dictionary of its own. Those that are open are sealed for it. With
   * `dryRun`, says from samples what that would give.
   */
  recompress(options: RecompressOptions & { readonly dryRun?: boolean } = {}): Promise<RecompressReport> {
    if (options.dryRun) return estimateRecompression(this, options);
    return this.#compactions.run(() => this.#makingRoom(() => recompressArchive(this, options)));
  }

  /** A view of this moment: later changes are not seen through it. */
  view(): Promise<CaptureReader & AsyncDisposable> {
    return this.catalog.view();
  }

  captures(range: CaptureRange, pageSize?: number): AsyncIterable<Capture[]> {
    return this.catalog.captures(range, pageSize);
  }

  capturesOf(key: UrlKey): Promise<readonly Capture[] | undefined> {
    return this.catalog.capturesOf(key);
  }

  findCaptures(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]> {
    return this.catalog.findCaptures(questions);
  }

  nearest(key: UrlKey, time: EpochMs, side?: 'either' | 'notAfter'): Promise<Capture | undefined> {
    return this.catalog.nearest(key, time, side);
  }

  getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]> {
    return this.catalog.getBlocks(keys);
  }

  blocks(pageSize?: number): AsyncIterable<Block[]> {
    return this.catalog.blocks(pageSize);
  }

  totals(): Promise<Totals> {
    return this.catalog.totals();
  }

  /** Reads single records by their places. */
  get records(): RecordReader {
    return this.access;
  }

  /** The captures of a URL and of all others with the same key, in order of time. */
  capturesOfUrl(url: string, span: CaptureSpan = {}): AsyncGenerator<Capture> {
    return this.retrieval.captures(url, span);
  }

  /** The capture of a URL nearest to a time, or the latest. `notAfter` looks only back. */
  findCapture(url: string, at?: EpochMs, side?: 'either' | 'notAfter'): Promise<Capture | undefined> {
    const typed = typedUrl(url);
    return at === undefined ? this.retrieval.latest(typed) : this.retrieval.nearest(typed, at, side);
  }

  /** The capture that `findCapture` finds, opened. */
  async get(url: string, at?: EpochMs, options: RetrieveOptions = {}): Promise<Retrieved> {
    const capture = await this.findCapture(url, at);
    if (!capture) throw new PinakesError('CONTENT_MISSING', { where: url });
    return this.retrieval.open(capture, options);
  }

  /** The capture of a name that `captureId` gave, wherever its record stands by now; undefined when it was deleted. */
  captureById(id: string): Promise<Capture | undefined> {
    return findCaptureById(this.catalog, id);
  }

  /** The capture of the page with this id nearest to a time, or the latest. */
  async getPage(id: PageId, at?: EpochMs, options: RetrieveOptions = {}): Promise<Retrieved> {
    const capture = await this.pages.find(id, at);
    if (!capture) throw new PinakesError('CONTENT_MISSING', { where: `page ${formatPageId(id)}` });
    return this.retrieval.open(capture, options);
  }

  open(capture: Capture): Promise<Retrieved> {
    return this.retrieval.open(capture);
  }

  /** A content by its key. */
  content(key: string, options: RetrieveOptions = {}): Promise<RetrievedContent> {
    return this.retrieval.content(parseContentKey(key), options);
  }

  /** Looks for what is wrong in segments and catalog; each problem is handed over as it is found. */
  verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    return verifyArchive(this, options);
  }

  listVolumes(): Promise<VolumeStatus[]> {
    return listVolumes(this);
  }

  /**
   * With a signal it can be broken off; what was not read of the volume then comes in when the archive is opened next.
   */
  addVolume(volume: NewVolume, options: AddVolumeOptions = {}): Promise<void> {
    // It heals, which would take away a segment that compaction is just writing.
    return this.#compactions.run(() => addVolume(this, volume, options));
  }

  setVolumeWritable(name: string, writable: boolean): Promise<void> {
    return setVolumeWritable(this, name, writable);
  }

  /** Takes an empty volume out of the archive. Its directory stays. */
  removeVolume(name: string): Promise<void> {
    return this.#compactions.run(() => removeVolume(this, name));
  }

  /** Moves all segments of a volume to another, or says what that would be. */
  migrate(from: string, to: string, options: MigrateOptions = {}): Promise<MigrateReport> {
    return this.#compactions.run(() => this.#makingRoom(() => migrateVolume(this, from, to, options)));
  }

  /** Where sorting and packing may write; emptied when the archive is opened. */
  get scratch(): string {
    return join(this.directory, SPOOL_DIRECTORY);
  }

  /** Records of a snapshot, each exactly once, from the beginning or from a cursor. */
  stream(query: StreamQuery = {}): Promise<RecordStream> {
    return RecordStream.open(this, query);
  }

  /** The same as the bytes of a WARC file. */
  streamWarc(query: StreamQuery = {}): AsyncGenerator<StreamPiece> {
    return streamWarc(this, query);
  }

  /** The same as lines of JSON that tell of the records. */
  streamJson(query: StreamQuery = {}): AsyncGenerator<StreamPiece> {
    return streamJson(this, query);
  }

  exportWarc(selection: Selection, path: string, options: WarcExportOptions): Promise<WarcExportReport> {
    return exportWarc(this, selection, path, options);
  }

  exportWacz(selection: Selection, path: string, options: WarcExportOptions): Promise<WaczExportReport> {
    return exportWacz(this, selection, path, options);
  }

  /** Lines of an index of the captures that a selection means; CDXJ, unless another format is given. */
  exportCdxj(
    selection: Selection,
    format?: Parameters<typeof exportCdxj>[2],
    options: CdxjExportOptions = {},
  ): AsyncGenerator<string> {
    return exportCdxj(this, selection, format, options);
  }

  async exportParquet(
    selection: Selection,
    path: string,
    options: ParquetExportOptions = {},
  ): Promise<ParquetExportReport> {
    // The engine takes time and memory to load, which nothing else should pay for.
    const { exportParquet } = await import('./export/export-parquet.ts');
    return exportParquet(this, selection, path, options);
  }

  stats(options: StatsOptions = {}): Promise<ArchiveStats> {
    return archiveStats(this, options);
  }

  segments(): Segment[] {
    return this.segmentRegistry.all();
  }

  /** Bytes of a segment from `from` to `to`, which is exclusive. */
  segmentBytes(name: string, from?: number, to?: number): AsyncIterable<Uint8Array> {
    const segment = this.segmentRegistry.byName(name);
    if (!segment) throw new PinakesError('CONTENT_MISSING', { where: `segment ${name}` });
    return this.volumes.get(segment.volume).stream(name, from, to);
  }

  /** Names of the segments that could not be read to their end when the archive was opened. */
  get unreadSegments(): ReadonlySet<string> {
    return this.segmentRegistry.unread;
  }

  /** Changes when a rebuild begins: numbers of segments learned before are then void. */
  async incarnation(): Promise<number> {
    return this.segmentRegistry.numbering;
  }

  get software(): string | undefined {
    return this.options.software;
  }

  /**
   * Makes the catalog again from the segments and the tombstones beside them. Interrupted, it is finished by the next
   * opening.
   */
  async rebuild(options: RebuildOptions = {}): Promise<void> {
    const [missing] = this.volumes.failures();
    // What a missing volume holds would leave the catalog; better no rebuild than that.
    if (missing) throw missing;
    const work = async () => {
      // Collections keep their numbers, and with them captures their ids.
      const collections = this.collections.notes();
      this.segmentRegistry.expireNumbers();
      await this.catalog.clear();
      await this.catalog.write({ putNotes: collections });
      await this.collections.load();
      this.segmentRegistry.reset();
      this.access.forget();
      this.retrieval.forget();
      const parts = this.cataloguingParts(options.signal);
      const onFinding = (finding: Finding) => {
        parts.onFinding?.(finding);
        options.onFinding?.(finding);
      };
      await healArchive(this, { ...parts, onFinding }, options.onProgress);
      await resolveLater(this);
      await this.catalog.write({ durable: true });
    };
    await this.#compactions.run(() => this.#growing(work));
  }

  /**
   * Waits for everything asked for so far, and makes the catalog durable too. What was acknowledged is durable without
   * (I2).
   */
  async flush(): Promise<void> {
    await this.#store.drain();
    await this.#exclusive.idle();
    await this.catalog.write({ durable: true });
  }

  /** Lets other processes know that a server has this archive open, and where to ask it; undefined takes that back. */
  announceServer(server: AnnouncedServer | undefined): Promise<void> {
    return this.#owner.announce(server);
  }

  /**
   * Finishes the stores that wait and the change that is being made; the next step of anything longer is refused with
   * ARCHIVE_CLOSED.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new PinakesError('ARCHIVE_CLOSED', { where: this.directory });
    await this.#store.close(closed);
    this.#closed = closed;
    await this.#exclusive.idle();
    await this.volumes.close();
    this.access.close();
    // As long as the catalog is locked the file is ours to remove.
    await this.#owner.release();
    await this.#reserve.takeBack();
    await this.catalog.close();
  }
}
