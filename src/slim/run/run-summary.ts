/** The result of a run, counted from its journal, so that a resumed run reports the same as an uninterrupted one. */
import type { CollectionFile } from '../collection.ts';
import type { StayReason } from '../rewrite/rewrite.ts';
import type { RunState } from './run-state.ts';

export type RunSummary = {
  readonly files: number;
  /** Files in which duplicates were replaced by revisits. */
  readonly filesRewritten: number;
  /**
   * Files that were excluded: damaged files, and files that something writes to. A run in place also excludes ARC files
   * and files with several names.
   */
  readonly filesAside: number;
  readonly records: number;
  /** Records whose content is in an earlier record of the collection. */
  readonly duplicates: number;
  /** Duplicates that were replaced by revisits. */
  readonly revisits: number;
  /** Duplicates that were not replaced, by reason. `original`: no revisit can refer to the original. */
  readonly stayed: Readonly<Record<StayReason | 'original', number>>;
  /** Records with the digest of a different content. They were not replaced. */
  readonly collisions: number;
  readonly payloadBytesSaved: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
};

export function summaryOf(files: readonly CollectionFile[], state: RunState): RunSummary {
  const stayed = { small: 0, coding: 0, unrepeatable: 0, changed: 0, original: 0 };
  let [records, duplicates, collisions, revisits, filesRewritten] = [0, 0, 0, 0, 0];
  let [bytesBefore, bytesAfter, payloadBytesSaved, filesAside] = [0, 0, 0, 0];
  for (const tally of state.planned.values()) {
    duplicates += tally.duplicates;
    collisions += tally.collisions;
    stayed.original += tally.unusable;
  }
  for (const scanned of state.scanned) {
    const { size } = scanned.identity;
    records += scanned.records;
    bytesBefore += size;
    if (scanned.aside !== '') filesAside++;
    const written = state.installed.has(scanned.file) ? state.written.get(scanned.file) : undefined;
    const isInPlace = files[scanned.file]!.target === files[scanned.file]!.path;
    const isReplaced = written !== undefined && !(isInPlace && written.replaced === 0);
    bytesAfter += isReplaced ? written.identity.size : size;
    if (!written) continue;
    for (const [reason, count] of Object.entries(written.stayed)) stayed[reason as StayReason] += count;
    if (written.replaced === 0) continue;
    filesRewritten++;
    revisits += written.replaced;
    payloadBytesSaved += written.payloadBytesSaved;
  }
  const bytes = { payloadBytesSaved, bytesBefore, bytesAfter };
  return {
    files: files.length,
    filesRewritten,
    filesAside,
    records,
    duplicates,
    revisits,
    stayed,
    collisions,
    ...bytes,
  };
}
