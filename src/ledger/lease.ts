/**
 * Leases: the right of one process to change what a name stands for (I13): the segments of a writer, the compaction of
 * a volume, the collection of what is left over, the adoption of everything.
 *
 * A lease ends when its holder ends it, when it was not renewed for its life, or when another took it over afterwards.
 * Nothing that the holder believes makes it hold: every commit is checked against the catalog (C1). `isLost` only saves
 * the work of what would be refused.
 *
 * The name of a writer's lease and the text `holder` belong to one process of one machine and are never used again, so
 * that a lost answer to taking a lease can be found in the list of leases.
 */
import { PinakesError } from '../base/index.ts';
import type { Catalog, Lease, LeaseRow } from '../catalog/index.ts';
import { type AskAgain, askAgain } from './ask-again.ts';
import { countersOf } from './counters.ts';

/**
 * Long enough for a pause of the process or a failover of the catalog, short enough that a dead writer is healed soon.
 */
export const LEASE_LIFE_MS = 60_000;
/** The lease of the process that removes what is left over (H4). */
export const COLLECTION_LEASE = 'collection';

/** What the names of the leases of writers begin with. */
export const WRITER_LEASES = 'writer:';

/** What the names of the leases of compactions begin with. */
export const COMPACTION_LEASES = 'compaction:';

/**
 * What warcinfo records name where one process owns the catalog. The lock of the catalog is the lease, so it does not
 * end by time, and the catalog has no row for it: commits and segments are without a lease.
 */
export function ownerLease(incarnation: number): Lease {
  return { name: 'owner', epoch: 1, incarnation };
}

/** The lease of the process that compacts a volume. */
export function compactionLease(volume: string): string {
  return COMPACTION_LEASES + volume;
}

export type LeaseOptions = {
  /** Undefined: the lease does not end by time. */
  readonly lifeMs?: number | undefined;
  readonly again?: AskAgain | undefined;
  /** Called with the taken lease, to renew it until it ends, however long the work under it waits for a volume. */
  readonly keep?: ((held: HeldLease) => void) | undefined;
};

export class HeldLease {
  readonly lease: Lease;
  readonly #catalog: Catalog;
  readonly #lifeMs: number | undefined;
  readonly #again: AskAgain;
  #isLost = false;

  private constructor(catalog: Catalog, lease: Lease, { lifeMs, again = {} }: LeaseOptions) {
    this.#catalog = catalog;
    this.lease = lease;
    this.#lifeMs = lifeMs;
    this.#again = again;
  }

  /** Undefined while another process holds the lease. */
  static async take(
    catalog: Catalog,
    name: string,
    holder: string,
    options: LeaseOptions = {},
  ): Promise<HeldLease | undefined> {
    const lease = await askAgain(async (tried) => {
      const own = tried > 1 ? ownOf(await catalog.leases(), name, holder) : undefined;
      return own ?? catalog.takeLease(name, holder, options.lifeMs);
    }, options.again);
    if (!lease) return undefined;
    countersOf(catalog).note('takenLeases', name);
    const held = new HeldLease(catalog, lease, options);
    options.keep?.(held);
    return held;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** False: the lease was lost. */
  async renew(): Promise<boolean> {
    if (this.#isLost || this.#lifeMs === undefined) return !this.#isLost;
    const lifeMs = this.#lifeMs;
    const isHeld = await askAgain(() => this.#catalog.renewLease(this.lease, lifeMs), this.#again);
    if (isHeld) countersOf(this.#catalog).note('renewedLeases', this.lease.name);
    else this.lose();
    return isHeld;
  }

  /** Renews the lease three times in its life, until it is lost or `signal` is aborted. */
  async keep(sleep: (ms: number) => Promise<void>, signal: AbortSignal): Promise<void> {
    if (this.#lifeMs === undefined) return;
    while (!signal.aborted && !this.#isLost) {
      await sleep(this.#lifeMs / 3);
      if (signal.aborted) return;
      try {
        await this.renew();
      } catch (error) {
        // An unreachable catalog refuses commits too. The lease may be living when it is back.
        if (!(error instanceof PinakesError)) throw error;
      }
    }
  }

  /** Called when a commit was refused because of the lease. */
  lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    countersOf(this.#catalog).note('lostLeases', this.lease.name);
  }

  /** Ends the lease at once, so that others may heal what is left. When this fails, time ends it. */
  async end(): Promise<void> {
    if (this.#isLost) return;
    this.#isLost = true;
    countersOf(this.#catalog).note('endedLeases', this.lease.name);
    await askAgain(() => this.#catalog.endLease(this.lease), this.#again).catch((error: unknown) => {
      if (!(error instanceof PinakesError)) throw error;
    });
  }
}

function ownOf(rows: readonly LeaseRow[], name: string, holder: string): Lease | undefined {
  const row = rows.find((lease) => lease.name === name && lease.holder === holder && lease.isLiving);
  return row && { name, epoch: row.epoch, incarnation: row.incarnation };
}
