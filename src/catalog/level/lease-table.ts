/**
 * The leases of a catalog that one process owns.
 *
 *     'l'  name  ->  epoch (varint), holder (UTF-8)
 *
 * The table only makes epochs grow. A lease lives in memory: only the process that has the catalog open can hold one,
 * so an opened catalog has no living lease, and renewing or ending one writes nothing.
 */
import { assert, type Clock } from '../../base/index.ts';
import type { Lease, LeaseRow } from '../catalog.ts';
import { RowReader, RowWriter } from '../row-bytes.ts';
import { TABLE, tableKey, tableRange } from '../table.ts';
import type { Database } from './level-database.ts';

type HeldLease = { readonly epoch: number; readonly holder: string; expires: number | undefined };

const ENDED = Number.NEGATIVE_INFINITY;

export class LeaseTable {
  readonly #held: Map<string, HeldLease>;
  readonly #clock: Clock | undefined;

  constructor(held: Map<string, HeldLease>, clock: Clock | undefined) {
    this.#held = held;
    this.#clock = clock;
  }

  /** Reads the leases of an opened catalog. All have ended. */
  static async load(database: Database, clock: Clock | undefined): Promise<LeaseTable> {
    const { from, to } = tableRange(TABLE.leases);
    const held = new Map<string, HeldLease>();
    for await (const [key, value] of database.iterator({ gte: from, lt: to })) {
      const reader = new RowReader(value);
      held.set(key.toString('utf8', 1), { epoch: reader.varint(), holder: reader.restUtf8(), expires: ENDED });
    }
    return new LeaseTable(held, clock);
  }

  /** The epoch of the next lease of this name; undefined while the former holder is living. */
  nextEpoch(name: string): number | undefined {
    const held = this.#held.get(name);
    if (held && this.#isUnexpired(held)) return undefined;
    return (held?.epoch ?? 0) + 1;
  }

  /** The row of a lease with this epoch. The lease lives once the row is written and `began` is called. */
  row(name: string, epoch: number, holder: string): [key: Buffer, value: Buffer] {
    assert(name.isWellFormed() && holder.isWellFormed(), 'the name or holder of a lease is not valid Unicode');
    const writer = new RowWriter();
    writer.varint(epoch);
    writer.utf8(holder);
    return [tableKey(TABLE.leases, name), writer.finish()];
  }

  began(name: string, epoch: number, holder: string, lifeMs: number | undefined): void {
    this.#held.set(name, { epoch, holder, expires: lifeMs === undefined ? undefined : this.#now() + lifeMs });
  }

  /** A lease that has ended elsewhere: the next one of its name has a higher epoch. */
  enter(name: string, epoch: number, holder: string): void {
    this.#held.set(name, { epoch, holder, expires: ENDED });
  }

  isLiving({ name, epoch, incarnation }: Lease, currentIncarnation: number): boolean {
    const held = this.#held.get(name);
    return incarnation === currentIncarnation && held?.epoch === epoch && this.#isUnexpired(held);
  }

  renew({ name }: Lease, lifeMs: number): void {
    this.#held.get(name)!.expires = this.#now() + lifeMs;
  }

  end({ name }: Lease): void {
    this.#held.get(name)!.expires = ENDED;
  }

  endAll(): void {
    for (const held of this.#held.values()) held.expires = ENDED;
  }

  /** The rows of all leases. */
  allRows(): [key: Buffer, value: Buffer][] {
    return [...this.#held].map(([name, { epoch, holder }]) => this.row(name, epoch, holder));
  }

  rows(incarnation: number): LeaseRow[] {
    return [...this.#held].map(([name, held]) => {
      const { epoch, holder } = held;
      const expires = held.expires === ENDED ? undefined : held.expires;
      return { name, epoch, incarnation, holder, expires, isLiving: this.#isUnexpired(held) };
    });
  }

  #isUnexpired({ expires }: HeldLease): boolean {
    return expires === undefined || (expires !== ENDED && expires > this.#now());
  }

  #now(): number {
    assert(this.#clock, 'a lease that ends by time needs a clock');
    return this.#clock();
  }
}
