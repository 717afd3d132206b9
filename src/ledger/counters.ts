/**
 * Counts what happens in the ledger of this process, and passes a line about every event to an observer. Each catalog
 * has its own counters, which `countersOf` finds. No decision depends on them.
 */
import type { CallObserver } from '../base/index.ts';
import type { Catalog, CommitGroup, CommitOutcome } from '../catalog/index.ts';

/** What is counted, with the help text of its metric. */
export const LEDGER_EVENTS = {
  commits: 'Groups of changes that were committed.',
  lostRaces: 'Contents of commits that another writer had stored first.',
  surplusRecords: 'Full records that were kept although another record holds their content.',
  staleGroups: 'Commits refused because a content that they refer to was gone or had another holder.',
  fencedWriters: 'Commits refused because the lease or the segment belongs to another writer.',
  healedTails: 'Open segments whose bytes after the last whole record were cut off.',
  adoptedRecords: 'Whole records that healing entered into the catalog.',
  sealedSegments: 'Segments that were sealed.',
  takenLeases: 'Leases that this process took.',
  renewedLeases: 'Renewals of leases of this process.',
  lostLeases: 'Leases of this process that ended before it gave them back.',
  endedLeases: 'Leases that this process gave back.',
  removedSegments: 'Segments that were removed from the catalog: empty, or replaced by others.',
} as const satisfies Record<string, string>;

export type LedgerEventKind = keyof typeof LEDGER_EVENTS;

export type LedgerCounts = Readonly<Record<LedgerEventKind, number>>;

export class LedgerCounters {
  readonly #counts = Object.fromEntries(Object.keys(LEDGER_EVENTS).map((kind) => [kind, 0])) as Record<
    LedgerEventKind,
    number
  >;
  /** Called with a line about every event: `lost races +2: another writer was first`. */
  observer: ((line: string) => void) | undefined;
  /** Watches commits. */
  calls: CallObserver | undefined;

  get counts(): LedgerCounts {
    return { ...this.#counts };
  }

  /** `detail`: what it happened to, such as the name of a segment. */
  note(kind: LedgerEventKind, detail: string, count = 1): void {
    if (count === 0) return;
    this.#counts[kind] += count;
    this.observer?.(`${inWords(kind)} +${count}: ${detail}`);
  }

  /** Notes what a commit did, or why it was refused. */
  noteCommit(group: CommitGroup, outcome: CommitOutcome): void {
    switch (outcome.kind) {
      case 'committed':
        this.note('commits', this.observer ? describe(group) : '');
        this.note('lostRaces', 'another writer was first', outcome.lost.length);
        this.note('surplusRecords', 'another record holds the content', outcome.lost.length);
        this.note('surplusRecords', 'entered as surplus', group.surplus?.length ?? 0);
        return;
      case 'stale':
        this.note('staleGroups', `${outcome.blocks.length} contents are gone or have other holders`);
        return;
      case 'fenced':
        if (outcome.why !== 'adopting')
          this.note('fencedWriters', `${outcome.why} of ${group.lease?.name ?? 'the owner'}`);
        return;
    }
  }
}

const countersByCatalog = new WeakMap<object, LedgerCounters>();

export function countersOf(catalog: object): LedgerCounters {
  let counters = countersByCatalog.get(catalog);
  if (!counters) {
    counters = new LedgerCounters();
    countersByCatalog.set(catalog, counters);
  }
  return counters;
}

/** A catalog in front of another one has the counters of that one. */
export function shareCounters(front: object, catalog: object): void {
  countersByCatalog.set(front, countersOf(catalog));
}

const COMMIT = { system: 'ledger', name: 'commit' } as const;

/** Commits a group, and counts the outcome. */
export async function commitCounted(catalog: Pick<Catalog, 'commit'>, group: CommitGroup): Promise<CommitOutcome> {
  const counters = countersOf(catalog);
  const commit = () => catalog.commit(group);
  const outcome = await (counters.calls?.(COMMIT, commit, ({ kind }) => kind) ?? commit());
  counters.noteCommit(group, outcome);
  return outcome;
}

/** `segments 2, captures 40, blocks 31`: the parts of a group that are lists. */
function describe(group: CommitGroup): string {
  const parts = Object.entries(group).flatMap(([name, value]) =>
    Array.isArray(value) && value.length > 0 ? [`${inWords(name)} ${value.length}`] : [],
  );
  return parts.join(', ') || 'notes';
}

function inWords(camelCase: string): string {
  return camelCase.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
