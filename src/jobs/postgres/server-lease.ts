/**
 * The lease of this server in the cluster. It is renewed in the background by the clock of the database. This process
 * counts its end from before the question was sent, and ends it earlier than the database does, so that its jobs have
 * stopped when others take them up. When it has ended, the server takes another lease, under another id.
 */
import type { IdSource } from '../../base/index.ts';
import type { Database } from '../../database/index.ts';

/** A lease is renewed so many times in its length. */
const RENEWALS = 3;
/** The part of its length after which this process gives a lease up that it could not renew. */
const OWN_PART = 0.8;
/** After a failure the next attempt waits for this part of the length. */
const ATTEMPTS = 15;

export type ServerLeaseOptions = {
  readonly database: Database;
  readonly name: string;
  readonly newId: IdSource;
  readonly leaseMs: number;
  /** Milliseconds that never go back. */
  readonly stopwatch: () => number;
  /** Called when the lease has ended. */
  readonly onLost: () => void;
};

export class ServerLease {
  readonly #options: ServerLeaseOptions;
  #id = '';
  /** When the lease ends here. */
  #endsAt = Number.NEGATIVE_INFINITY;
  #renewTimer: NodeJS.Timeout | undefined;
  #endTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ServerLeaseOptions) {
    this.#options = options;
  }

  get id(): string {
    return this.#id;
  }

  get isHeld(): boolean {
    return !this.#isClosed && this.#options.stopwatch() < this.#endsAt;
  }

  /** Takes a first lease and keeps it. */
  async start(): Promise<void> {
    await this.#take();
    this.#renewIn(this.#options.leaseMs / RENEWALS);
  }

  /** Ends the renewals. The row is left to the caller. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#renewTimer);
    clearTimeout(this.#endTimer);
  }

  async #take(): Promise<void> {
    const { database, name, newId, leaseMs } = this.#options;
    const id = newId().replace(/^<urn:uuid:|>$/g, '');
    const askedAt = this.#options.stopwatch();
    await database.query(
      `insert into ${database.schema}.job_servers values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')`,
      [id, name, leaseMs],
    );
    this.#id = id;
    this.#hold(askedAt);
  }

  #renewIn(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#renewTimer);
    this.#renewTimer = setTimeout(() => void this.#renew(), ms);
    this.#renewTimer.unref();
  }

  async #renew(): Promise<void> {
    const { leaseMs } = this.#options;
    try {
      if (!this.isHeld) this.#lose();
      if (this.#id === '') await this.#take();
      else await this.#extend();
      this.#renewIn(this.#id === '' ? 0 : leaseMs / RENEWALS);
    } catch {
      // The database cannot be asked now. The end of the lease comes nearer.
      this.#renewIn(leaseMs / ATTEMPTS);
    }
  }

  async #extend(): Promise<void> {
    const { database, leaseMs, stopwatch } = this.#options;
    const id = this.#id;
    const askedAt = stopwatch();
    const renewed = await database.query(
      `update ${database.schema}.job_servers set lease_until = clock_timestamp() + $2 * interval '1 millisecond'
       where id = $1 and lease_until > clock_timestamp() returning id`,
      [id, leaseMs],
    );
    if (this.#id !== id) return;
    if (renewed.length > 0) this.#hold(askedAt);
    else this.#lose();
  }

  #hold(askedAt: number): void {
    const { leaseMs, stopwatch } = this.#options;
    this.#endsAt = askedAt + OWN_PART * leaseMs;
    clearTimeout(this.#endTimer);
    if (this.#isClosed) return;
    this.#endTimer = setTimeout(() => this.#lose(), Math.max(0, this.#endsAt - stopwatch()));
    this.#endTimer.unref();
  }

  #lose(): void {
    if (this.#id === '' || this.#isClosed) return;
    this.#id = '';
    this.#endsAt = Number.NEGATIVE_INFINITY;
    clearTimeout(this.#endTimer);
    this.#options.onLost();
    this.#renewIn(0);
  }
}
