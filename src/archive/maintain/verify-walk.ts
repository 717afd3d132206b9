/**
 * Walks one segment from its beginning and compares every record with the catalog: is it there at this place, and if it
 * is deleted, is it gone from the catalog? A full verification also checks whether its payload has the digest in the
 * catalog, and whether the digests that it declares are right.
 *
 * The other direction, from the catalog to the records, is checked by counting: a segment is complete if the numbers of
 * captures and holders that the walk met equal those of the catalog. Segments with smaller numbers are examined one by
 * one (see verify.ts).
 */
import { type Finding, parseRecordDate } from '../../base/index.ts';
import { type Capture, compareBlockKeys, type Segment } from '../../catalog/index.ts';
import { factsOfRecord, findCapturesIn, type RecordFacts } from '../../ledger/index.ts';
import { urlKey } from '../../url/index.ts';
import {
  BlockScanner,
  type DigestVerdict,
  judgeDigests,
  type RecordHead,
  readRecords,
  verdictScanOptions,
} from '../../warc/index.ts';
import { inSegment } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { releasePayload } from '../read/record-access.ts';
import { blockId } from '../revisit/catalog-draft.ts';
import { type Problem, type ProblemCode, verifyProblem } from '../verify-problem.ts';

const GROUP_RECORDS = 1000;
/** A place without a record. */
const NOWHERE = { segment: 0, offset: 0 };

export type WalkOptions = {
  readonly isFull: boolean;
  readonly onProblem: (problem: Problem) => Promise<void>;
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal | undefined;
};

/** How many records, captures and holders the walk met in a segment. */
export type WalkCounts = { records: number; captures: number; holders: number };

type Met = { readonly facts: RecordFacts; readonly isDead: boolean };

export async function walkSegment(
  archive: OpenedArchive,
  segment: Segment,
  dead: ReadonlySet<number>,
  options: WalkOptions,
): Promise<WalkCounts> {
  const walk = new SegmentWalk(archive, segment, options);
  await walk.run(dead);
  return walk.counts;
}

class SegmentWalk {
  readonly counts: WalkCounts = { records: 0, captures: 0, holders: 0 };
  readonly #archive: OpenedArchive;
  readonly #segment: Segment;
  readonly #options: WalkOptions;
  #group: Met[] = [];
  #findings: Finding[] = [];

  constructor(archive: OpenedArchive, segment: Segment, options: WalkOptions) {
    this.#archive = archive;
    this.#segment = segment;
    this.#options = options;
  }

  async run(dead: ReadonlySet<number>): Promise<void> {
    const { volumes, access } = this.#archive;
    const { name, volume, bytes, number } = this.#segment;
    const dictionary = await access.dictionaryOf(number);
    const isOwn = await access.isOwn(this.#segment);
    const records = readRecords(volumes.get(volume).stream(name, 0, bytes), {
      name,
      inputBytes: bytes,
      dictionary: dictionary && Buffer.from(dictionary),
      onFinding: (finding) => this.#findings.push(inSegment(finding, isOwn)),
      signal: this.#options.signal,
    });
    for await (const { head, tail, facts } of this.#facts(records)) {
      this.counts.records++;
      this.#options.onBytes(head.offset);
      // The same rule as for the catalog: an incomplete record, or one that shares its member, has no place of its own.
      if (tail?.isComplete && tail.length !== undefined) this.#group.push({ facts, isDead: dead.has(facts.offset) });
      if (this.#group.length >= GROUP_RECORDS) await this.#compare();
    }
    await this.#compare();
    await this.#reportFindings();
  }

  async *#facts(records: ReturnType<typeof readRecords>) {
    for await (const record of records) {
      const { head } = record;
      const { isFull } = this.#options;
      const scanner = new BlockScanner(head, isFull ? verdictScanOptions(head, ['sha256']) : { payload: ['sha256'] });
      if (isFull) for await (const piece of record.body()) scanner.push(piece);
      else for await (const _ of record.body());
      const block = scanner.end();
      const payloadDigests = block.payloadDigests.filter(({ algorithm }) => algorithm === 'sha256');
      if (isFull) await this.#reportDigests(head, judgeDigests(head, block, record.tail?.isComplete ?? false));
      const facts = factsOfRecord(
        head,
        { ...block, payloadDigests },
        record.tail?.length,
        record.tail?.isComplete ?? false,
      );
      yield { head, tail: record.tail, facts };
    }
  }

  /** Compares a group of records with the catalog, in few calls. */
  async #compare(): Promise<void> {
    const group = this.#group.filter(({ facts }) => facts.kind !== undefined);
    this.#group = [];
    await this.#reportFindings();
    if (group.length === 0) return;
    const records = group.map(({ facts }) => facts);
    const found = await findCapturesIn(this.#archive.catalog, this.#segment.number, records);
    const captures = group.map(({ facts }, index) => found[index]!.find(({ place }) => place.length === facts.length));
    for (const [index, { facts, isDead }] of group.entries()) {
      const capture = captures[index];
      if (capture) this.counts.captures++;
      if (isDead && capture) await this.#reportProblem('deleted-catalogued', facts.offset, facts.url, [facts.url]);
      if (!isDead && !capture) await this.#reportProblem('record-uncatalogued', facts.offset, facts.url, [facts.url]);
    }
    await (this.#options.isFull ? this.#compareContents(group, captures) : this.#countHolders(captures));
    if (this.#options.isFull) await this.#compareReferents(group, captures);
  }

  async #countHolders(captures: readonly (Capture | undefined)[]): Promise<void> {
    const full = captures.filter((capture) => capture?.block && capture.kind !== 'revisit');
    const blocks = await this.#archive.catalog.getBlocks(full.map((capture) => capture!.block!));
    for (const [index, block] of blocks.entries()) {
      const { place } = full[index]!;
      if (block?.holder.segment === place.segment && block.holder.offset === place.offset) this.counts.holders++;
    }
  }

  async #compareContents(group: readonly Met[], captures: readonly (Capture | undefined)[]): Promise<void> {
    const { catalog } = this.#archive;
    const digests = group.map(({ facts }) => this.#archive.fingerprint(facts.payloadDigest));
    const blocks = await catalog.findBlocks(digests);
    for (const [index, { facts }] of group.entries()) {
      if (facts.type === 'revisit') continue;
      const fitting = blocks[index]!.filter((block) => block.size === facts.payloadBytes);
      const isHolder = fitting.some(
        ({ holder }) => holder.segment === this.#segment.number && holder.offset === facts.offset,
      );
      if (isHolder) this.counts.holders++;
      const wanted = captures[index]?.block;
      if (!wanted) continue;
      if (fitting.some(({ key }) => compareBlockKeys(key, wanted) === 0)) continue;
      const [block] = await catalog.getBlocks([wanted]);
      // A holder with changed bytes is reported with all its captures, when the holders are examined.
      if (block?.holder.segment === this.#segment.number && block.holder.offset === facts.offset) continue;
      await this.#reportProblem('content-changed', facts.offset, facts.url, [facts.url]);
    }
  }

  /**
   * Checks that the record which a revisit names by URI and date is in the archive, so that other tools find it too.
   * Nearly always that record is the holder of the content, so this is checked first, with one row of the catalog.
   * There may be many other captures of that URL and time.
   */
  async #compareReferents(group: readonly Met[], captures: readonly (Capture | undefined)[]): Promise<void> {
    const { catalog } = this.#archive;
    const revisits = group.flatMap(({ facts }, index) => {
      const capture = captures[index];
      const time = parseRecordDate(facts.refersToDate);
      if (facts.type !== 'revisit' || !capture?.block || facts.refersToUri === '' || time === undefined) return [];
      return [{ facts, block: capture.block, visit: { urlKey: urlKey(facts.refersToUri), time } }];
    });
    const blocks = await catalog.getBlocks(revisits.map(({ block }) => block));
    const holders = await catalog.findCaptures(
      revisits.map(({ visit }, index) => ({ ...visit, at: blocks[index]?.holder ?? NOWHERE })),
    );
    const others = revisits.filter((_, index) => holders[index]!.length === 0);
    const found = await catalog.findCaptures(others.map(({ visit }) => visit));
    const contents = new Map<readonly Capture[], Set<string>>();
    for (const captures of new Set(found))
      contents.set(captures, new Set(captures.flatMap(({ block }) => (block ? [blockId(block)] : []))));
    for (const [index, { facts, block }] of others.entries()) {
      const isThere = contents.get(found[index]!)!.has(blockId(block));
      if (isThere || (await this.#isHeldByDeleted(facts, block))) continue;
      await this.#reportProblem('revisit-target-gone', facts.offset, `${facts.refersToUri} of ${facts.refersToDate}`);
    }
  }

  /** A deleted record that others refer to stays in its segment until compaction finds another holder. */
  async #isHeldByDeleted(facts: RecordFacts, key: NonNullable<Capture['block']>): Promise<boolean> {
    const [block] = await this.#archive.catalog.getBlocks([key]);
    if (!block) return false;
    try {
      const { head, payload } = await this.#archive.access.open(block.holder);
      await releasePayload(payload);
      const isOfDate = head.date === facts.refersToDate || head.standardDate === facts.refersToDate;
      return head.targetUri === facts.refersToUri && isOfDate;
    } catch {
      // A problem of the holder is reported when the holders are examined.
      return true;
    }
  }

  /** Reports digests that do not match. In an uncompressed file, only the block digest protects an HTTP head. */
  async #reportDigests(head: RecordHead, { payload, block }: DigestVerdict): Promise<void> {
    const wrong = [payload === 'none' && 'WARC-Payload-Digest', block === 'none' && 'WARC-Block-Digest'];
    const fields = wrong
      .filter((field) => field !== false)
      .map((field) => `${field}: ${head.get(field.toLowerCase())}`);
    if (fields.length > 0) await this.#reportProblem('digest-disagrees', head.offset, fields.join(', '));
  }

  async #reportFindings(): Promise<void> {
    const findings = this.#findings;
    this.#findings = [];
    for (const { level, offset, code, message } of findings) {
      if (level === 'note') continue;
      await this.#reportProblem(level === 'error' ? 'record-damaged' : 'record-odd', offset, `${code}, ${message}`);
    }
  }

  #reportProblem(code: ProblemCode, offset: number, detail?: string, examples: readonly string[] = []): Promise<void> {
    const { volume, name } = this.#segment;
    const more = { ...(detail !== undefined && { detail }), leaning: examples.length, examples };
    return this.#options.onProblem(verifyProblem(code, { volume, segment: name, offset }, more));
  }
}
