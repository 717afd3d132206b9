/**
 * The takedowns of an archive as its log tells them, one record for each, with the searches for their bytes. Deletions
 * that bar something and that the log does not have are listed as problems: their entries were removed, or an earlier
 * version, which kept no log, wrote them.
 */
import { isDeletionSegment, segmentRecords } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { LogEntry, SearchStatement, TakedownEnd, TakedownFacts } from './log-entry.ts';
import type { ReadLog } from './takedown-log.ts';

export type TakedownRecord = Omit<TakedownFacts, 'kind'> & {
  /** The number of its entry in the log, by which commands name it. */
  readonly id: number;
  /** As W3C date. */
  readonly time: string;
  readonly by: string;
  readonly archive: string;
  /** SHA-256 of the entry, and the fingerprint of the key that signed it. */
  readonly digest: string;
  readonly key: string | undefined;
  /** Why the entry is not what the archive wrote. Undefined: its signature is right. */
  readonly problem: string | undefined;
  /** Undefined: it was interrupted. Taking the same down again completes it. */
  readonly end: (Omit<TakedownEnd, 'kind' | 'takedown'> & { readonly time: string }) | undefined;
  /** The last search for its bytes. */
  readonly search: StatedSearch | undefined;
};

export type StatedSearch = Omit<SearchStatement, 'kind'> & {
  readonly id: number;
  readonly time: string;
  readonly by: string;
  readonly digest: string;
};

export type TakedownRecords = Pick<ReadLog, 'keys' | 'problems'> & {
  /** Oldest first. */
  readonly takedowns: readonly TakedownRecord[];
};

type LoggedArchive = Pick<OpenedArchive, 'takedownLog' | 'catalog' | 'stores' | 'volumes'>;

export async function readTakedowns(archive: LoggedArchive): Promise<TakedownRecords> {
  const { entries, problems, keys } = await archive.takedownLog.read();
  const ends = new Map<number, TakedownRecord['end']>();
  const searches: StatedSearch[] = [];
  for (const { entry, digest, problem } of entries) {
    if (!entry || problem !== undefined) continue;
    const { time, by, number, facts } = entry;
    if (facts.kind === 'carried out') ends.set(facts.takedown, { ...facts, time });
    if (facts.kind === 'search') searches.push({ ...facts, id: number, time, by, digest });
  }
  const takedowns = entries.flatMap(({ entry, ...read }) => {
    if (!isTakedown(entry)) return [];
    const { facts, number: id, time, by, archive: name } = entry;
    const search = searches.findLast(({ takedowns: of }) => of.length === 0 || of.includes(id));
    const isLater = search !== undefined && search.id > id;
    const { digest, key, problem } = read;
    const { kind: _, ...said } = facts;
    return [
      {
        ...said,
        id,
        time,
        by,
        archive: name,
        digest,
        key,
        problem,
        end: ends.get(id),
        search: isLater ? search : undefined,
      },
    ];
  });
  const unlogged = await unloggedDeletions(archive, new Set(takedowns.map(({ request }) => request)));
  return { takedowns, keys, problems: [...problems, ...unlogged] };
}

function isTakedown(entry: LogEntry | undefined): entry is LogEntry & { facts: TakedownFacts } {
  return entry?.facts.kind === 'takedown';
}

/** Deletions in the segments that bar something, and whose entries are not in the log. */
async function unloggedDeletions(
  { catalog, stores, volumes }: LoggedArchive,
  logged: ReadonlySet<string>,
): Promise<string[]> {
  const problems = new Set<string>();
  for (const segment of await catalog.segments()) {
    if (!isDeletionSegment(segment) || !volumes.find(segment.volume)) continue;
    for await (const { deletion } of segmentRecords(stores.get(segment.volume), segment, 0, segment.bytes)) {
      const { bars = [], request = '', time = '' } = deletion?.deletion ?? {};
      if (bars.length > 0 && !logged.has(request))
        problems.add(`the takedown of ${time} (${request}) has no entry; an earlier release wrote none`);
    }
  }
  return [...problems];
}
