/**
 * An archive: opened, owned by this process, ready for everything that is done with one.
 *
 * This file joins the parts; each part has a file of its own. Changes run one at a time, through `exclusive`; reading goes on beside them.
 */
import { mkdir, readdir, stat, unlink } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type Clock, type EpochMs, type Finding, type IdSource, PinakesError } from '../base/index.ts';
import { type Capture, type Catalog, openLevelCatalog, removeLevelCatalog, type Segment } from '../catalog/index.ts';
import { type AddOptions, type AddReport, addFiles } from './add.ts';
import type { ArchiveParts } from './archive-parts.ts';
import { CatalogDraft } from './catalog-draft.ts';
import { type CataloguingParts, sweepBlocks } from './cataloguing.ts';
import { Collections } from './collections.ts';
import { type CompactOptions, type CompactReport, compactArchive } from './compact.ts';
import {
  CONNECTOR_NAME,
  type Connector,
  DEFAULT_POLICIES,
  MAIN_VOLUME,
  type Policies,
  readConnector,
  writeConnector,
} from './connector.ts';
import { parseContentKey } from './content-key.ts';
import { type DeletePreview, type DeleteReport, deleteCaptures, previewDelete } from './delete.ts';
import { Exclusive } from './exclusive.ts';
import { healArchive } from './heal.ts';
import { OwnerFile } from './owner.ts';
import { RecordAccess } from './record-access.ts';
import { resolveLater } from './resolve-later.ts';
import { Retrieval, type Retrieved, type RetrievedContent } from './retrieve.ts';
import { SegmentShelf } from './segment-shelf.ts';
import type { Selection } from './selection.ts';
import { type Stored, type StoreInput, type StoreOptions, StoreQueue } from './store.ts';
import { Tombstones } from './tombstones.ts';
import { chooseVolume } from './volume-choice.ts';
import { createVolume, VolumeSet } from './volume-set.ts';

const CATALOG_DIRECTORY = 'catalog';
const SPOOL_DIRECTORY = 'spool';

export type ArchiveOptions = {
  readonly clock: Clock;
  readonly newId: IdSource;
  /** What the archive is opened for, for the owner file. */
  readonly purpose?: string;
  /** `pinakes/0.1.0`, as written into segments. */
  readonly software?: string;
  readonly onFinding?: (finding: Finding) => void;
  /** For tests: other volumes, another catalog, weaker fingerprints. */
  readonly volumes?: VolumeSet;
  readonly catalog?: Catalog;
  readonly fingerprint?: (digest: Uint8Array) => Uint8Array;
};

export type InitOptions = { readonly name?: string; readonly policies?: Partial<Policies> };

/** Makes an archive in a directory that has none. */
export async function createArchive(directory: string, options: InitOptions = {}): Promise<void> {
  await mkdir(directory, { recursive: true });
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
  });
}

/** Opens an archive and heals what a crash may have left (I3). */
export async function openArchive(directory: string, options: ArchiveOptions): Promise<Archive> {
  const connector = await readConnector(directory);
  const owner = await OwnerFile.take(directory, options.purpose ?? 'open', options.clock);
  try {
    return await Archive.open(directory, connector, owner, options);
  } catch (error) {
    await owner.release();
    throw error;
  }
}

export class Archive implements ArchiveParts {
  readonly directory: string;
  readonly catalog: Catalog;
  readonly volumes: VolumeSet;
  readonly shelf: SegmentShelf;
  readonly access: RecordAccess;
  readonly collections: Collections;
  readonly tombstones: Tombstones;
  readonly options: ArchiveOptions;
  readonly retrieval: Retrieval;
  readonly #owner: OwnerFile;
  readonly #exclusive = new Exclusive();
  readonly #store: StoreQueue;
  #connector: Connector;

  private constructor(
    directory: string,
    connector: Connector,
    owner: OwnerFile,
    catalog: Catalog,
    volumes: VolumeSet,
    options: ArchiveOptions,
  ) {
    this.directory = directory;
    this.#connector = connector;
    this.#owner = owner;
    this.catalog = catalog;
    this.volumes = volumes;
    this.options = options;
    const { clock, newId, software = 'pinakes' } = options;
    this.shelf = new SegmentShelf({ volumes, policies: connector.policies, clock, newId, software });
    this.access = new RecordAccess(volumes, this.shelf);
    this.collections = new Collections(catalog);
    this.tombstones = new Tombstones(volumes);
    this.retrieval = new Retrieval(catalog, this.access);
    this.#store = new StoreQueue(this.#writingParts());
  }

  static async open(
    directory: string,
    connector: Connector,
    owner: OwnerFile,
    options: ArchiveOptions,
  ): Promise<Archive> {
    const volumes = options.volumes ?? (await VolumeSet.open(directory, connector.volumes));
    const catalog = options.catalog ?? (await openLevelCatalog(join(directory, CATALOG_DIRECTORY)));
    const archive = new Archive(directory, connector, owner, catalog, volumes, options);
    try {
      await archive.#load();
      return archive;
    } catch (error) {
      await archive.close();
      throw error;
    }
  }

  async #load(): Promise<void> {
    const spool = join(this.directory, SPOOL_DIRECTORY);
    await mkdir(spool, { recursive: true });
    for (const left of await readdir(spool)) await unlink(join(spool, left)).catch(() => {});
    await this.collections.load();
    this.shelf.load(await this.catalog.segments());
    await healArchive(this, this.cataloguingParts());
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
      volumes: this.volumes,
      access: this.access,
      fingerprint: (digest) => this.fingerprint(digest),
      onFinding: this.options.onFinding,
      signal,
    };
  }

  newDraft(): CatalogDraft {
    return new CatalogDraft(this.catalog);
  }

  /** Makes what was appended durable, then lets the catalog take the draft (I1, I2). */
  async commit(draft: CatalogDraft): Promise<void> {
    const segments = await this.shelf.sync();
    for (const segment of segments) draft.putSegment(segment);
    await this.catalog.write(draft.batch());
    this.shelf.settle(segments);
    const sealed = await this.shelf.retireFull();
    if (sealed.length > 0) await this.catalog.write({ putSegments: sealed });
  }

  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#exclusive.run(work);
  }

  #writingParts() {
    return {
      directory: join(this.directory, SPOOL_DIRECTORY),
      catalog: this.catalog,
      shelf: this.shelf,
      access: this.access,
      collections: this.collections,
      newId: this.options.newId,
      dedupBytesMin: this.#connector.policies.dedupBytesMin,
      fingerprint: (digest: Uint8Array) => this.fingerprint(digest),
      chooseVolume: (digest: Uint8Array) => chooseVolume(this.volumes, digest),
      exclusive: <T>(work: () => Promise<T>) => this.exclusive(work),
      newDraft: () => this.newDraft(),
      commit: (draft: CatalogDraft) => this.commit(draft),
      rollBack: () => this.shelf.rollBack(),
    };
  }

  store(input: StoreInput, options: StoreOptions = {}): Promise<Stored> {
    return this.#store.store(input, options);
  }

  /** Takes WARC and ARC files in by copying what is new. */
  async add(files: readonly string[], options: AddOptions = {}): Promise<AddReport> {
    const report = await addFiles(this.#writingParts(), files, options);
    const resolved = await this.exclusive(() => resolveLater(this));
    return { ...report, unresolved: Math.max(0, report.unresolved - resolved) };
  }

  /** What a deletion would take. */
  previewDelete(selection: Selection): Promise<DeletePreview> {
    return previewDelete(this, selection);
  }

  delete(selection: Selection, options: { signal?: AbortSignal } = {}): Promise<DeleteReport> {
    return deleteCaptures(this, selection, options);
  }

  compact(options: CompactOptions = {}): Promise<CompactReport> {
    return compactArchive(this, options);
  }

  /** The capture of a URL nearest to a time, or the latest. */
  async get(url: string, at?: EpochMs): Promise<Retrieved> {
    const capture = at === undefined ? await this.retrieval.latest(url) : await this.retrieval.nearest(url, at);
    if (!capture) throw new PinakesError('CONTENT_MISSING', { where: url });
    return this.retrieval.open(capture);
  }

  open(capture: Capture): Promise<Retrieved> {
    return this.retrieval.open(capture);
  }

  /** A content by its key. */
  content(key: string): Promise<RetrievedContent> {
    return this.retrieval.content(parseContentKey(key));
  }

  segments(): Segment[] {
    return this.shelf.all();
  }

  /** Makes the catalog again from the segments and the tombstones beside them. */
  async rebuild(options: { signal?: AbortSignal; onProgress?: (segment: Segment) => void } = {}): Promise<void> {
    await this.exclusive(async () => {
      await this.catalog.clear();
      await this.collections.load();
      this.shelf.reset();
      await healArchive(this, this.cataloguingParts(options.signal), options.onProgress);
      await resolveLater(this);
      await sweepBlocks(this.catalog);
    });
  }

  async close(): Promise<void> {
    await this.#store.drain();
    await this.#exclusive.idle();
    await this.volumes.close();
    this.access.close();
    await this.catalog.close();
    await this.#owner.release();
  }
}

/** Removes a damaged catalog, so that the archive can be opened and rebuilt. */
export async function dropCatalog(directory: string): Promise<void> {
  await readConnector(directory);
  await removeLevelCatalog(join(directory, CATALOG_DIRECTORY));
}
