/**
 * The writer of this process in a cluster, with its lease (I13). The lease is taken for the first change, renewed in
 * the background, and ended when the archive is closed. A process that only reads has none.
 *
 * A lease that was lost is lost for good, and its segments belong to the process that heals them. The next change takes
 * a lease of another name, with segments of its own (P1).
 */
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { assert, type IdSource, PinakesError } from '../../base/index.ts';
import type { Catalog, Lease } from '../../catalog/index.ts';
import { HeldLease, type SegmentWriter, WRITER_LEASES } from '../../ledger/index.ts';

export type OwnWriterOptions = {
  readonly catalog: Catalog;
  readonly newId: IdSource;
  readonly purpose: string;
  readonly lifeMs: number;
  readonly newWriter: (lease: Lease) => SegmentWriter;
};

type Current = { readonly held: HeldLease; readonly writer: SegmentWriter; readonly ending: AbortController };

export class OwnWriter {
  readonly #options: OwnWriterOptions;
  #current: Current | undefined;
  #taking: Promise<void> | undefined;
  #isEnded = false;

  constructor(options: OwnWriterOptions) {
    this.#options = options;
  }

  /** The lease of the changes that are made now. Undefined: none was made yet. */
  get lease(): Lease | undefined {
    return this.#current?.held.lease;
  }

  get writer(): SegmentWriter {
    assert(this.#current, 'a change takes its lease before it begins');
    return this.#current.writer;
  }

  /** Takes a lease, unless this process has one that it may still hold. Called before each change. */
  async ready(): Promise<void> {
    if (this.#current && !this.#current.held.isLost) return;
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    await this.#taking;
  }

  async #take(): Promise<void> {
    if (this.#isEnded) throw new PinakesError('ARCHIVE_CLOSED');
    // Its segments belong to others now.
    this.#current?.writer.reset();
    this.#current?.ending.abort();
    const { catalog, newId, purpose, lifeMs, newWriter } = this.#options;
    const id = newId().replace(/^<urn:uuid:|>$/g, '');
    const name = `${WRITER_LEASES}${hostname()}:${process.pid}:${id}`;
    const held = await HeldLease.take(catalog, name, `${hostname()}, process ${process.pid}, ${purpose}`, { lifeMs });
    if (!held) throw new PinakesError('LEASE_LOST', { where: name });
    const ending = new AbortController();
    this.#current = { held, writer: newWriter(held.lease), ending };
    void held.keep((ms) => wait(ms, undefined, { signal: ending.signal, ref: false }).catch(() => {}), ending.signal);
  }

  /** Called when a commit was refused because of the lease. */
  lose(): void {
    this.#current?.held.lose();
  }

  /** Seals what this process has open, and ends the lease. What cannot be sealed now is healed by others. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#taking?.catch(() => {});
    const current = this.#current;
    if (!current) return;
    const { writer, held } = current;
    try {
      if (held.isLost) return;
      await writer.dropEmpty();
      for (const open of writer.openSegments()) if (!open.isDirty) await writer.seal(open);
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      // A database that does not answer is not waited for again. Time ends the lease.
      if (error.code === 'CATALOG_UNREACHABLE') held.lose();
    } finally {
      this.#forget();
      await held.end();
    }
  }

  #forget(): void {
    this.#current?.ending.abort();
    this.#current = undefined;
  }
}
