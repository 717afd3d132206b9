/**
 * Renews a lease until it is ended or lost, whatever the work under it waits for: listing a bucket, or joining a large
 * segment, may take longer than the lease lasts. Of a process that is stopped, the lease ends by time.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { HeldLease } from '../../ledger/index.ts';

const NEVER = new AbortController().signal;

export function keepLease(held: HeldLease): void {
  void held.keep((ms) => wait(ms, undefined, { ref: false }), NEVER);
}
