/**
 * Visits: a capture and the records that a crawler wrote with it, such as its request. They have one URI and one date,
 * or name one another in WARC-Concurrent-To.
 *
 * The records of a visit are kept in one segment, because compaction looks only there for the records that go with a
 * deleted capture (I6).
 */
import type { RecordFacts } from '../../ledger/index.ts';

export function visitOf({ date, url }: Pick<RecordFacts, 'date' | 'url'>): string {
  return `${date} ${url}`;
}

/** Whether two consecutive records belong to one visit. */
export function isSameVisit(one: RecordFacts, next: RecordFacts): boolean {
  if (next.concurrentTo !== '' && (next.concurrentTo === one.recordId || next.concurrentTo === one.concurrentTo))
    return true;
  if (one.concurrentTo !== '' && one.concurrentTo === next.recordId) return true;
  return hasVisit(one) && hasVisit(next) && visitOf(one) === visitOf(next);
}

/** All records of the visits that have an odd record. A visit of a single record is left out. */
export function oddVisits(records: readonly RecordFacts[]): ReadonlySet<RecordFacts> {
  const found = new Set<RecordFacts>();
  if (!records.some(({ isOdd }) => isOdd)) return found;
  /** For each key, how many of the found records have it. */
  const keys = new Map<string, number>();
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const facts of records) {
      if (found.has(facts)) continue;
      const own = keysOf(facts);
      if (!facts.isOdd && !own.some((key) => keys.has(key))) continue;
      found.add(facts);
      for (const key of own) keys.set(key, (keys.get(key) ?? 0) + 1);
    }
  }
  for (const facts of found) if (keysOf(facts).every((key) => keys.get(key) === 1)) found.delete(facts);
  return found;
}

function keysOf(facts: RecordFacts): string[] {
  if (facts.type === 'warcinfo') return [];
  const ids = [facts.recordId, facts.concurrentTo].filter((id) => id !== '');
  return [...new Set(hasVisit(facts) ? [...ids, visitOf(facts)] : ids)];
}

function hasVisit(facts: RecordFacts): boolean {
  return facts.url !== '' && facts.date !== '';
}
