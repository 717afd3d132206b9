/** The audit log: entries are only added. Reading begins with the newest. */
import type { EpochMs } from '../../base/index.ts';
import type { AuditAction, AuditEntry, AuditOutcome } from './audit-entry.ts';

export type AuditQuery = {
  /** Entries of this time and later. */
  readonly since?: EpochMs | undefined;
  /** Entries before this time. */
  readonly until?: EpochMs | undefined;
  /** A part of the name of the person, token or user, in any case. */
  readonly who?: string | undefined;
  readonly action?: AuditAction | undefined;
  readonly outcome?: AuditOutcome | undefined;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
};

export type AuditPage = {
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  /** Absent on the last page. */
  readonly next?: string;
};

export interface AuditLog {
  /** Adds an entry. It is durable when this returns. */
  append(entry: AuditEntry): Promise<void>;
  /** Throws RangeError for an `after` that is not the `next` of a page. */
  read(query: AuditQuery): Promise<AuditPage>;
}

export function matches({ since, until, who, action, outcome }: AuditQuery, entry: AuditEntry): boolean {
  if (since !== undefined && entry.time < since) return false;
  if (until !== undefined && entry.time >= until) return false;
  if (action !== undefined && entry.action !== action) return false;
  if (outcome !== undefined && entry.outcome !== outcome) return false;
  return who === undefined || entry.who.name.toLowerCase().includes(who.toLowerCase());
}
