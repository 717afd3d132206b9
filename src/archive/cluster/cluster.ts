/**
 * What an archive needs when other processes change it too, on other machines: the lease of its writer, the leases of
 * its maintenance, the settings that all machines share, and the duties that fall to any process that changes
 * something:
 *
 * - Writers that ended without sealing are healed (H2). Their captures are in the catalog already; healing adds what
 *   was durable and not committed, and seals.
 * - Segments that a takedown wants sealed are sealed.
 * - Settings that another machine has changed are read, and its volumes opened.
 *
 * Reading needs none of this (I14). Duties begin with the first change of the process; settings are read by all.
 */
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, Exclusive, type Finding, type IdSource, mapLimited, PinakesError } from '../../base/index.ts';
import type { Catalog, Lease, Segment } from '../../catalog/index.ts';
import {
  type AdoptionReport,
  adoptAll,
  COMPACTION_LEASES,
  compactionLease,
  HeldLease,
  healLease,
  LEASE_LIFE_MS,
  type LeaseHealingOptions,
  leasesToHeal,
  nextIncarnation,
  rebuildCatalog,
  type SegmentStores,
  type SegmentWriter,
  segmentsToSeal,
  WRITER_LEASES,
} from '../../ledger/index.ts';
import type { Collections } from '../collections.ts';
import type { Connector } from '../connector.ts';
import { CatalogForeignRevisits } from '../revisit/foreign-revisits.ts';
import type { ResolutionFilter } from '../revisit/resolution-filter.ts';
import { countOdd, OddCounter } from '../segment/odd-records.ts';
import type { SegmentRegistry } from '../segment/segment-registry.ts';
import type { VolumeSet } from '../segment/volume-set.ts';
import { type NamedSnapshots, SNAPSHOT_NOTE } from '../stream/named-snapshots.ts';
import { keepLease } from './keep-lease.ts';
import { OwnWriter } from './own-writer.ts';
import { READERS_MS } from './readable-catalog.ts';
import { type ClusterSettings, changeSettings, readSettings, settingsNotes } from './settings.ts';

/** How long readers of other processes may go on reading what was replaced or joined. */
const GRACE_MS = 3600 * 1000;
const TICK_MS = 1000;
/** Healing looks at all rows of segments, so it is done less often: once in so many rounds. */
const HEAL_ROUNDS = 10;
/** Every writer leaves the row of a lease. A row is kept for a day after it ended, for those who look what happened. */
const FORGET_ROUNDS = 3600;
const LEASE_ROW_LIFE_MS = 24 * 3600 * 1000;

export type ClusterTimes = {
  /** A lease that is not renewed for this long has ended. */
  readonly leaseLifeMs?: number;
  readonly graceMs?: number;
  /** How often settings and requests of others are read. */
  readonly tickMs?: number;
};

export type AdoptOptions = {
  /** Whether everything is entered anew, as if the catalog were lost. */
  readonly empties?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((segment: Segment) => void) | undefined;
  readonly onFinding?: ((finding: Finding) => void) | undefined;
};

/** The parts of the open archive that the cluster works with. */
export type ClusterArchive = {
  readonly directory: string;
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly stores: SegmentStores;
  readonly volumes: VolumeSet;
  readonly collections: Collections;
  readonly segmentRegistry: SegmentRegistry;
  readonly resolutionFilter: ResolutionFilter;
  readonly snapshots: Pick<NamedSnapshots, 'load'>;
  readonly fingerprint: (digest: Uint8Array) => Uint8Array;
  newWriter(lease: Lease): SegmentWriter;
  exclusive<T>(work: () => Promise<T>): Promise<T>;
  takeConnector(settings: Connector): void;
  report(finding: Finding): void;
};

export class Cluster {
  readonly writer: OwnWriter;
  readonly graceMs: number;
  readonly lifeMs: number;
  readonly #archive: ClusterArchive;
  /** As it is, also while it is being adopted. */
  readonly #catalog: Catalog;
  readonly #tickMs: number;
  readonly #ending = new AbortController();
  /** Undefined: the settings are those of the connector, as in tests. */
  #settings: ClusterSettings | undefined;
  /** Of the settings: they are read or changed one at a time. */
  readonly #changes = new Exclusive();
  #maintenance = new Map<string, HeldLease>();
  #duties: Promise<void> | undefined;
  #rounds = 0;

  constructor(
    archive: ClusterArchive,
    catalog: Catalog,
    settings: ClusterSettings | undefined,
    times: ClusterTimes,
    purpose: string,
  ) {
    const { newId } = archive;
    this.#catalog = catalog;
    this.#archive = archive;
    this.#settings = settings;
    this.lifeMs = times.leaseLifeMs ?? LEASE_LIFE_MS;
    this.graceMs = times.graceMs ?? GRACE_MS;
    this.#tickMs = times.tickMs ?? TICK_MS;
    const newWriter = (lease: Lease) => archive.newWriter(lease);
    this.writer = new OwnWriter({ catalog, newId, purpose, lifeMs: this.lifeMs, newWriter });
  }

  /** Begins the duties of this process. */
  begin(): void {
    this.#duties ??= this.#work();
  }

  /** Ends the duties, seals what is open, and gives the leases back. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#duties;
    await this.writer.end();
  }

  async #work(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await wait(this.#tickMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      // Without the database there is nothing to do. The next round finds it again, or the next change reports it.
      await this.#round().catch((error: unknown) => {
        // What was being healed at the end is left to others.
        if (!(error instanceof PinakesError || signal.aborted)) throw error;
      });
    }
  }

  async #round(): Promise<void> {
    await this.refresh();
    await this.#archive.snapshots.load();
    if (!this.writer.lease) return;
    await this.#sealAsked();
    const round = this.#rounds++;
    if (round % HEAL_ROUNDS === 0) await this.heal();
    if (round % FORGET_ROUNDS === 0) await this.#catalog.forgetLeases?.(WRITER_LEASES, LEASE_ROW_LIFE_MS);
  }

  /** Reads the settings again when another machine has changed them, and opens volumes that are new. */
  refresh(): Promise<void> {
    return this.#changes.run(() => this.#refresh());
  }

  async #refresh(): Promise<void> {
    const catalog = this.#catalog;
    const { volumes, directory } = this.#archive;
    if (!this.#settings) return;
    const now = await readSettings(catalog, directory);
    if (!now || now.number === this.#settings.number) return;
    const before = volumes.settings();
    this.#settings = now;
    this.#archive.takeConnector(now.connector);
    for (const setting of now.connector.volumes) {
      const known = before.find(({ name }) => name === setting.name);
      if (!isDeepStrictEqual(known, setting)) await volumes.put(directory, setting).catch(reported);
    }
    for (const { name } of before)
      if (!now.connector.volumes.some((setting) => setting.name === name)) await volumes.remove(name);
  }

  /** Changes the settings for all machines. */
  change(connector: Connector): Promise<void> {
    const catalog = this.#catalog;
    const { stores, newId, directory } = this.#archive;
    return this.#changes.run(async () => {
      if (!this.#settings) return;
      this.#settings = await changeSettings({ catalog, stores, newId, where: directory }, this.#settings, connector);
    });
  }

  /**
   * Begins another incarnation, and enters what the volumes have and the catalog lacks (R2): after a failover, a
   * restore, or when a volume with segments was added. With `empties`, everything is entered anew: a rebuild. Every
   * lease ends. If another process goes on with it, this one waits.
   */
  async adopt({ empties = false, ...options }: AdoptOptions = {}): Promise<AdoptionReport> {
    const catalog = this.#catalog;
    const { stores, volumes, segmentRegistry, collections, newId } = this.#archive;
    const [missing] = volumes.failures();
    // What a missing volume has would be taken for lost.
    if (missing) throw missing;
    const holder = `${hostname()}, process ${process.pid}, adopting ${newId()}`;
    const adoption = { ...this.#healing(options), stores };
    this.writer.lose();
    segmentRegistry.beginRebuild();
    try {
      const clearing = { notes: await this.#keptNotes(), settle: (held: HeldLease) => this.#settle(held) };
      if (!empties) await catalog.beginIncarnation(await nextIncarnation(catalog, stores));
      const adopted = empties ? rebuildCatalog(adoption, holder, clearing) : adoptAll(adoption, holder);
      return (await adopted) ?? (await this.#awaitOthers(options.signal));
    } finally {
      segmentRegistry.reset();
      segmentRegistry.endRebuild();
      await collections.load();
    }
  }

  /** Waits until readers know that the catalog is being made again. */
  async #settle(held: HeldLease): Promise<void> {
    const step = Math.min(READERS_MS, this.lifeMs / 3);
    for (let waitedMs = 0; waitedMs < READERS_MS; waitedMs += step) {
      await wait(step);
      await held.renew();
    }
  }

  /** Waits while another process adopts what is in the volumes. */
  async #awaitOthers(signal: AbortSignal | undefined): Promise<AdoptionReport> {
    while (await this.#catalog.isAdopting()) await wait(this.#tickMs, undefined, { signal });
    return { segments: [] };
  }

  /** Called when it is certain that the server of the database has all commits of the former one. */
  async trust(): Promise<void> {
    await this.#catalog.trust?.();
  }

  /** The notes that a rebuild keeps: nothing in the volumes says these things. */
  async #keptNotes(): Promise<Record<string, string>> {
    const catalog = this.#catalog;
    const { collections } = this.#archive;
    await collections.load();
    return { ...collections.notes(), ...(await settingsNotes(catalog)), ...(await catalog.notes(SNAPSHOT_NOTE)) };
  }

  /** Heals what ended writers have left, and goes on with an adoption that was interrupted. */
  async heal(): Promise<number> {
    const catalog = this.#catalog;
    const { newId, stores } = this.#archive;
    const { signal } = this.#ending;
    if (await catalog.isAdopting()) {
      await adoptAll(
        { ...this.#healing({ signal }), stores },
        `${hostname()}, process ${process.pid}, adopting ${newId()}`,
      );
      return 0;
    }
    const names = await leasesToHeal(catalog);
    let healed = 0;
    for (const name of names) {
      if (signal.aborted) break;
      const options = this.#healing({ signal });
      if (await healLease(options, name, `${hostname()}, process ${process.pid}, healing ${newId()}`)) healed++;
    }
    return healed;
  }

  #healing({ signal, onProgress, onFinding }: AdoptOptions): LeaseHealingOptions {
    const catalog = this.#catalog;
    const { clock, stores, fingerprint, collections, resolutionFilter } = this.#archive;
    return {
      catalog,
      clock,
      stores,
      fingerprint,
      lifeMs: this.lifeMs,
      keep: keepLease,
      graceMs: this.graceMs,
      isEmbedded: false,
      collectionName: (number) => collections.name(number),
      foreign: new CatalogForeignRevisits({ catalog, resolutionFilter, fingerprint }),
      beside: async (row) => ({
        notesOf: async (records) => {
          const odd = new OddCounter(await countOdd(catalog, row.number));
          for (const facts of records) odd.add(facts);
          return odd.notes(row.number);
        },
      }),
      onFinding: (finding) => {
        this.#archive.report(finding);
        onFinding?.(finding);
      },
      onStep: async (row) => {
        if (row) onProgress?.(row);
      },
      signal,
    };
  }

  /** Seals the open segments of this process that a takedown of another one waits for. */
  async #sealAsked(): Promise<void> {
    const archive = this.#archive;
    const open = this.writer.writer.openSegments().map(({ segment }) => segment.name);
    if (open.length === 0 || (await segmentsToSeal(this.#catalog, open)).length === 0) return;
    await archive.exclusive(async () => {
      const { writer } = this.writer;
      await writer.dropEmpty();
      const asked = new Set(await segmentsToSeal(this.#catalog, open));
      for (const one of writer.openSegments())
        if (asked.has(one.segment.name) && !one.isDirty) {
          const sealed = await writer.seal(one);
          if (sealed) archive.segmentRegistry.grow(sealed);
        }
    });
  }

  /**
   * Runs work that writes segments anew, moves or removes them, with the leases of all writable volumes. One process at
   * a time does such work.
   */
  async maintaining<T>(work: () => Promise<T>): Promise<T> {
    const catalog = this.#catalog;
    const { newId, volumes } = this.#archive;
    const names = volumes.writable().map(({ name }) => name);
    const held = new Map<string, HeldLease>();
    try {
      for (const name of names.sort()) {
        const holder = `${hostname()}, process ${process.pid}, ${newId()}`;
        const options = { lifeMs: this.lifeMs, keep: keepLease };
        const lease = await HeldLease.take(catalog, compactionLease(name), holder, options);
        if (!lease) throw await busy(catalog, name);
        held.set(name, lease);
      }
      this.#maintenance = held;
      await this.#archive.snapshots.load();
      return await work();
    } finally {
      this.#maintenance = new Map();
      await mapLimited([...held.values()], held.size || 1, (lease) => lease.end());
    }
  }

  /** Runs work that one machine at a time does. `check` fails when another one may have begun it since. */
  async alone<T>(name: string, work: (check: () => Promise<void>) => Promise<T>): Promise<T> {
    const catalog = this.#catalog;
    const holder = `${hostname()}, process ${process.pid}, ${this.#archive.newId()}`;
    const held = await HeldLease.take(catalog, name, holder, { lifeMs: this.lifeMs, keep: keepLease });
    if (!held) {
      const row = (await catalog.leases()).find((lease) => lease.name === name && lease.isLiving);
      throw new PinakesError('ARCHIVE_BUSY', { detail: `${name} is in use${row ? ` by ${row.holder}` : ''}` });
    }
    try {
      return await work(async () => {
        if (!(await held.renew())) throw new PinakesError('LEASE_LOST', { where: name });
      });
    } finally {
      await held.end();
    }
  }

  get isMaintaining(): boolean {
    return this.#maintenance.size > 0;
  }

  /** The lease of a volume, while this process maintains the archive. */
  compactionOf(volume: string): HeldLease | undefined {
    return this.#maintenance.get(volume);
  }
}

async function busy(catalog: Pick<Catalog, 'leases'>, volume: string): Promise<PinakesError> {
  const name = COMPACTION_LEASES + volume;
  const row = (await catalog.leases()).find((lease) => lease.name === name && lease.isLiving);
  const detail = `the volume ${volume} is being compacted or moved${row ? ` by ${row.holder}` : ''}`;
  return new PinakesError('ARCHIVE_BUSY', { detail });
}

function reported(error: unknown): void {
  if (!(error instanceof PinakesError)) throw error;
}
