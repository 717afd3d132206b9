/** What is wrong in an examined archive or worth knowing, in plain sentences, each with what to do about it. */
import { type EpochMs, parseW3cDate } from '../../base/index.ts';
import type { MirrorStatus } from '../mirror-status.ts';
import type { CatalogState, Examination, PendingRemoval } from './doctor.ts';

export type Advice = {
  /** `problem`: something does not work, or soon will not. `hint`: nothing is wrong. */
  readonly level: 'problem' | 'hint';
  readonly message: string;
  /** What to do. Empty: nothing. */
  readonly advice: string;
};

/** An empty list means that all is well and nothing waits. */
export function adviceOn({ time, owner, catalog, refusal, volumes, mirrors, reserve }: Examination): Advice[] {
  const found: Advice[] = [];
  const problem = (message: string, advice: string) => found.push({ level: 'problem', message, advice });
  const hint = (message: string, advice: string) => found.push({ level: 'hint', message, advice });
  if (refusal) problem(refusal.message, refusal.advice);
  for (const { failure } of volumes) if (failure) problem(failure.message, failure.advice);
  if (!volumes.some(({ writable, failure }) => writable && !failure))
    problem(
      'no volume can be written to',
      'Mount the disk of a writable volume, or add one with `pinakes volume add`.',
    );
  if (reserve.freeBytes !== undefined && reserve.freeBytes < Math.max(reserve.bytes, RESERVE_BYTES_MIN))
    problem(
      'the disk of the archive is nearly full, so that nothing more can be stored',
      'Free some space. `pinakes delete` and then `pinakes compact` make room too.',
    );
  for (const mirror of mirrors) adviseOnMirror(mirror, time, problem, hint);
  if (catalog) adviseOnCatalog(catalog, owner !== undefined, problem, hint);
  else if (!refusal && owner)
    hint(
      'the catalog is not read, since another process has the archive open and is not a server',
      'Run this again when that process has ended.',
    );
  else if (!refusal)
    hint('the archive has no catalog yet', 'The next command that opens the archive makes it from the segments.');
  return found;
}

const RESERVE_BYTES_MIN = 8 * 1024 * 1024;

type Say = (message: string, advice: string) => void;

const DAY_MS = 24 * 3600 * 1000;
/** A mirror that was not synced for so long, or for three times its own interval, is a problem. */
const MIRROR_AGE_MS = 7 * DAY_MS;

function adviseOnMirror({ name, last, everyMs = 0 }: MirrorStatus, now: EpochMs, problem: Say, hint: Say): void {
  const sync = `\`pinakes mirror sync ${name}\` brings it up to date.`;
  if (!last) {
    problem(`the mirror ${name} was never synced`, sync);
    return;
  }
  const ageMs = now - (parseW3cDate(last.time) ?? 0);
  if (ageMs > Math.max(MIRROR_AGE_MS, 3 * everyMs))
    problem(`the mirror ${name} was last synced ${Math.floor(ageMs / DAY_MS)} days ago`, sync);
  if (last.barred.length > 0)
    hint(
      `the mirror ${name} has bytes of what was taken down, in ${many(last.barred.length, 'segment')}`,
      'Run `pinakes compact`, then `pinakes mirror sync`.',
    );
}

function adviseOnCatalog(catalog: CatalogState, isOwned: boolean, problem: Say, hint: Say): void {
  const { isOld, isAdopting, leases, openSegments, pending, surplusRecords } = catalog;
  if (isOld)
    hint('the archive was made by an earlier Pinakes, and is only read', 'To change it, run `pinakes upgrade`.');
  if (isAdopting)
    problem(
      'the catalog began a new life and is taking over what is in the volumes; nothing is deleted or compacted until it is done',
      'Wait for it. If no process is at it any more, run `pinakes rebuild`.',
    );
  const ended = new Set(leases.flatMap(({ name, isLiving }) => (isLiving ? [] : [name])));
  const left = openSegments.filter(({ lease }) => lease !== undefined && ended.has(lease));
  if (left.length > 0)
    hint(
      `${many(left.length, 'open segment')} belong${left.length === 1 ? 's' : ''} to writers whose lease has ended`,
      'The next process that opens the archive for writing heals and seals them.',
    );
  const torn = openSegments.filter(({ uncommittedBytes }) => (uncommittedBytes ?? 0) > 0);
  if (torn.length > 0 && !isOwned)
    hint(
      `${many(torn.length, 'open segment')} ${torn.length === 1 ? 'has' : 'have'} bytes that the catalog does not know, from an interrupted command`,
      'The next command that opens the archive enters whole records and cuts off the rest.',
    );
  const short = openSegments.filter(({ uncommittedBytes }) => (uncommittedBytes ?? 0) < 0);
  for (const { name } of short)
    problem(
      `the open segment ${name} is shorter than in the catalog`,
      'Put it back from a backup, or run `pinakes verify`.',
    );
  for (const [, group] of Map.groupBy(pending, reasonOf)) hint(...adviceOnPending(group));
  if (surplusRecords > 0)
    hint(
      `${many(surplusRecords, 'full record')} ${surplusRecords === 1 ? 'has' : 'have'} a content that another record holds`,
      '`pinakes compact` makes revisits of them.',
    );
}

function reasonOf({ waitsFor, detail }: PendingRemoval): string {
  return waitsFor === 'snapshot' || waitsFor === 'volume' ? `${waitsFor} ${detail}` : waitsFor;
}

/** What to say about removals that wait for the same. */
function adviceOnPending(group: readonly PendingRemoval[]): [message: string, advice: string] {
  const [{ waitsFor, detail }] = group as [PendingRemoval];
  const isOne = group.length === 1;
  const segments = many(group.length, 'segment');
  const hold = `${segments} ${isOne ? 'holds' : 'hold'} deleted records`;
  switch (waitsFor) {
    case 'compaction':
      return [hold, '`pinakes compact` removes their bytes.'];
    case 'snapshot':
      return [
        `${hold} and ${isOne ? 'is' : 'are'} kept by ${detail}`,
        'Remove the snapshot with `pinakes snapshot rm`, then run `pinakes compact`.',
      ];
    case 'volume':
      return [
        `${hold} and ${isOne ? 'waits' : 'wait'} for the volume ${detail}, which is missing or read-only`,
        'Bring the volume back, or make it writable with `pinakes volume set`. Then run `pinakes compact`.',
      ];
    case 'grace':
      return [`bytes of ${segments} are kept for readers that began earlier`, ''];
    case 'sealing':
      return [
        `a takedown waits until ${segments} ${isOne ? 'is' : 'are'} sealed`,
        'The writers seal them when they renew their leases.',
      ];
    case 'next change':
      return [
        `${segments} replaced by an interrupted compaction ${isOne ? 'is' : 'are'} still there`,
        'The next change removes the old bytes.',
      ];
  }
}

function many(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
