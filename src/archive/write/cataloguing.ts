/** Reads the records of a segment for a swap. */
import type { Finding } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { factsOfRecord, type RecordFacts } from '../../ledger/index.ts';
import { BlockScanner, digestMismatches, readRecords, verdictScanOptions, warcFinding } from '../../warc/index.ts';
import { inSegment } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';

type ReadingOptions = {
  readonly onFinding: (finding: Finding) => void;
  readonly signal?: AbortSignal | undefined;
};

/**
 * The facts of every record of a segment from an offset on, in order. `to` is its current end, which may be beyond its
 * length in the catalog.
 */
export async function* recordsOf(
  { volumes, access }: Pick<OpenedArchive, 'volumes' | 'access'>,
  segment: Segment,
  from: number,
  to: number,
  { onFinding, signal }: ReadingOptions,
): AsyncGenerator<RecordFacts> {
  const volume = volumes.get(segment.volume);
  const dictionary = await access.dictionaryOf(segment.number);
  const isOwn = await access.isOwn(segment);
  const records = readRecords(volume.stream(segment.name, from, to), {
    name: segment.name,
    offset: from,
    inputBytes: to - from,
    dictionary: dictionary && Buffer.from(dictionary),
    onFinding: (finding) => onFinding(inSegment(finding, isOwn)),
    signal,
  });
  for await (const record of records) {
    const { head } = record;
    const isChecked = !record.isCompressed || record.hasChecksum;
    const scanner = new BlockScanner(head, isChecked ? { payload: ['sha256'] } : verdictScanOptions(head, ['sha256']));
    for await (const piece of record.body()) scanner.push(piece);
    const facts = scanner.end();
    const isComplete = record.tail?.isComplete ?? false;
    // The catalog enters a damaged content under the digest of its damaged bytes, so nothing would show the damage
    // later.
    if (!isChecked)
      for (const code of digestMismatches(head, facts, isComplete))
        onFinding(warcFinding(code, segment.name, head.offset));
    const payloadDigests = facts.payloadDigests.filter(({ algorithm }) => algorithm === 'sha256');
    yield factsOfRecord(head, { ...facts, payloadDigests }, record.tail?.length, isComplete);
  }
}
