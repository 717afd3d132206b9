/**
 * Enters the records of a segment into the catalog by reading it: after a crash, the records that the catalog does not
 * have (I3); during a rebuild, all records.
 */
import type { Finding } from '../../base/index.ts';
import type { Segment, SharedCatalog } from '../../catalog/index.ts';
import {
  commitCounted,
  commitUntilTaken,
  factsOfRecord,
  LeftOut,
  namedContent,
  type RecordFacts,
} from '../../ledger/index.ts';
import { BlockScanner, digestMismatches, readRecords, verdictScanOptions, warcFinding } from '../../warc/index.ts';
import { inSegment } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { CatalogDraft, UNSWEPT_NOTE } from '../revisit/catalog-draft.ts';
import { countOdd, OddCounter } from '../segment/odd-records.ts';
import { Registrar } from './registrar.ts';

const BATCH_RECORDS = 1000;

type ReadingOptions = {
  readonly onFinding: (finding: Finding) => void;
  /** Called with the offset of a member that lacks its last bytes. */
  readonly onTorn?: ((offset: number) => unknown) | undefined;
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
  { onFinding, onTorn, signal }: ReadingOptions,
): AsyncGenerator<RecordFacts> {
  const volume = volumes.get(segment.volume);
  const dictionary = await access.dictionaryOf(segment.number);
  const isOwn = await access.isOwn(segment);
  const records = readRecords(volume.stream(segment.name, from, to), {
    name: segment.name,
    offset: from,
    inputBytes: to - from,
    dictionary: dictionary && Buffer.from(dictionary),
    onFinding: (finding) => {
      if (finding.code === 'member-truncated') onTorn?.(finding.offset);
      onFinding(inSegment(finding, isOwn));
    },
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

/**
 * Enters the records from `segment.bytes` on. The result has the length up to which whole records reach. In an open
 * segment, bytes after that are a torn tail. Blocks of deleted records are entered without references, and
 * `sweepBlocks` removes blocks that get no references later.
 */
export async function catalogueSegment(
  archive: Pick<OpenedArchive, 'access' | 'catalog' | 'collections' | 'fingerprint' | 'resolutionFilter' | 'volumes'>,
  segment: Segment,
  dead: ReadonlySet<number>,
  options: Omit<ReadingOptions, 'onTorn'> & {
    readonly bytes: number;
    readonly isOpen: boolean;
    readonly onStep: (entered: Segment) => void;
  },
): Promise<Segment> {
  const { catalog, fingerprint } = archive;
  let current = segment;
  let group: RecordFacts[] = [];
  const odd = new OddCounter(await countOdd(catalog, segment.number));
  // A record that occurs twice is two captures, so only deletions are checked (C5).
  const checks = { collectionName: await archive.collections.name(segment.collection), mayRepeat: true };
  const commit = async () => {
    if (group.length === 0) return;
    for (const facts of group) odd.add(facts);
    const leftOut = new LeftOut<RecordFacts>();
    let entered: readonly RecordFacts[] = [];
    await commitUntilTaken(async (refusal) => {
      if (refusal) leftOut.add(refusal, entered);
      const draft = new CatalogDraft(catalog, archive.resolutionFilter, { keepUnreferenced: true });
      const registrar = new Registrar(catalog, draft, fingerprint, { isOwn: true, segment: current.number, checks });
      await registrar.prepare(group);
      for (const facts of group) {
        const place = { segment: current.number, offset: facts.offset, length: facts.length ?? 0 };
        const isDead = dead.has(facts.offset) || leftOut.why(facts) !== undefined;
        await registrar.enter(facts, place, current.collection, isDead);
        if (isDead && facts.kind) draft.addDead(place, namedContent(facts, fingerprint));
      }
      const last = group.at(-1)!;
      draft.changeSegment(current, { bytes: last.offset + last.length!, records: current.records + group.length });
      for (const [name, value] of Object.entries(odd.notes(current.number))) draft.putNote(name, value);
      entered = registrar.entered;
      return commitCounted(catalog, draft.group());
    });
    current = (await catalog.segment(current.number))!;
    options.onStep(current);
    group = [];
  };
  // A member can lack its last bytes although its record is whole. Nothing may be appended after such a member. The
  // reader reports a torn member when the next record is requested, so each record is entered one record later.
  let waiting: RecordFacts | undefined;
  const torn = new Set<number>();
  const onTorn = (offset: number) => torn.add(offset);
  const records = recordsOf(archive, segment, segment.bytes, options.bytes, {
    onFinding: options.onFinding,
    onTorn: options.isOpen ? onTorn : undefined,
    signal: options.signal,
  });
  for await (const facts of records) {
    if (waiting) group.push(waiting);
    // A record without an end of its own is torn or shares a member. The archive does not write such records, and they
    // are left out.
    waiting = facts.isComplete && facts.length !== undefined ? facts : undefined;
    if (group.length >= BATCH_RECORDS) await commit();
  }
  // Damage earlier in the segment can look like a torn member too. It is not a reason to cut off a whole record.
  if (waiting && !torn.has(waiting.offset)) group.push(waiting);
  await commit();
  return current;
}

/**
 * Removes blocks without references, after all segments were read. Such blocks would return deleted contents and
 * prevent compaction from removing them. After an interruption, the next opening finds UNSWEPT_NOTE and repeats this.
 */
export async function sweepBlocks(catalog: SharedCatalog): Promise<void> {
  if (!(UNSWEPT_NOTE in (await catalog.notes(UNSWEPT_NOTE)))) return;
  for await (const page of catalog.blocks()) {
    const unreferenced = page.filter((block) => block.references === 0).map((block) => block.key);
    if (unreferenced.length > 0) await catalog.commit({ sweep: unreferenced });
  }
  await catalog.commit({ removeNotes: [UNSWEPT_NOTE] });
}
