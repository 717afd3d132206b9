/**
 * Walks one segment from its beginning and compares every record with the catalog: is it there at this place, and if it
 * is deleted, is it gone from the catalog? A full verification also checks whether its payload has the digest in the
 * catalog, and whether the digests that it declares are right.
 *
 * The other direction, from the catalog to the records, is checked by sums: a segment is complete if the sums of the
 * captures and holders that the walk met equal those of the catalog. Other segments are examined one by one (see
 * verify.ts).
 *
 * Others may change the archive meanwhile. Each group of records is compared with a view of the catalog, and with the
 * tombstones that were carried out in this view. If a record differs, its group is compared once more with another view
 * when the change in progress is complete (see segment-watch.ts).
 */
import { type Finding, parseRecordDate } from '../../base/index.ts';
import { type Capture, type CatalogView, compareBlockKeys, type Segment } from '../../catalog/index.ts';
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
import type { ProblemCode } from '../verify-problem.ts';
import { DeletedReferents } from './deleted-referents.ts';
import { PlaceSum } from './place-sum.ts';
import type { Report } from './problem-reporter.ts';
import type { Doubt, SegmentWatch } from './segment-watch.ts';

const GROUP_RECORDS = 1000;
/** Bytes that are read between two rests. Their records are inflated and hashed without a pause. */
const PIECE_BYTES = 64 * 1024;
const PIECE_MS_MAX = 4;
const GROUP_MS_MAX = 25;
/** A place without a record. */
const NOWHERE = { segment: 0, offset: 0 };

/** The deleted records of a segment. `areAllKnown`: whether no tombstones of it are in a missing volume. */
export type Dead = { readonly offsets: ReadonlySet<number>; readonly areAllKnown: boolean };

export type WalkOptions = {
  readonly isFull: boolean;
  readonly watch: SegmentWatch;
  /** The records of the segment that are deleted in a view of the catalog. */
  readonly deadIn: (segment: Segment, view: CatalogView) => Promise<Dead>;
  readonly report: Report;
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal | undefined;
};

/** What a walk met in a segment. */
export type Walked = {
  /** The row of the segment when the walk began. */
  readonly segment: Segment;
  records: number;
  /** Records that are captures or were before they were deleted. */
  readonly captures: PlaceSum;
  /** Records that hold a content. */
  readonly holders: PlaceSum;
  /** Whether a record is not in the catalog as it is. A capture may then have the place of a record, and not be it. */
  hasUncatalogued: boolean;
};

/** Fails with SegmentChanged when the segment was replaced or moved meanwhile. */
export async function walkSegment(archive: OpenedArchive, segment: Segment, options: WalkOptions): Promise<Walked> {
  const walk = new SegmentWalk(archive, segment, options);
  await walk.run();
  return walk.walked;
}

type Wrong = { readonly code: ProblemCode; readonly facts: RecordFacts; readonly detail: string };

/** What is wrong with a group of records according to a view of the catalog. */
type Judgement = {
  readonly wrong: readonly Wrong[];
  readonly holders: PlaceSum;
  readonly doubt: Doubt | undefined;
};

class SegmentWalk {
  readonly walked: Walked;
  readonly #archive: OpenedArchive;
  readonly #segment: Segment;
  readonly #options: WalkOptions;
  #dead: Dead | undefined;
  #group: RecordFacts[] = [];
  #findings: Finding[] = [];

  constructor(archive: OpenedArchive, segment: Segment, options: WalkOptions) {
    this.#archive = archive;
    this.#segment = segment;
    this.#options = options;
    this.walked = { segment, records: 0, captures: new PlaceSum(), holders: new PlaceSum(), hasUncatalogued: false };
  }

  async run(): Promise<void> {
    const { access } = this.#archive;
    const { name, bytes, number } = this.#segment;
    const dictionary = await access.dictionaryOf(number);
    const isOwn = await access.isOwn(this.#segment);
    const records = readRecords(this.#pieces(), {
      name,
      inputBytes: bytes,
      dictionary: dictionary && Buffer.from(dictionary),
      onFinding: (finding) => this.#findings.push(inSegment(finding, isOwn)),
      signal: this.#options.signal,
    });
    for await (const { head, tail, facts } of this.#facts(records)) {
      this.walked.records++;
      this.#options.onBytes(head.offset);
      // The same rule as for the catalog: an incomplete record, or one that shares its member, has no place of its own.
      if (tail?.isComplete && tail.length !== undefined && facts.kind !== undefined) this.#group.push(facts);
      if (this.#group.length >= GROUP_RECORDS) await this.#compare();
    }
    await this.#compare();
    await this.#options.watch.assertUnchanged(this.#segment);
  }

  /** The bytes of the segment in small pieces, with a rest after each. */
  async *#pieces(): AsyncGenerator<Uint8Array> {
    const { volume, bytes } = this.#segment;
    for await (const piece of this.#archive.stores.get(volume).stream(this.#segment, 0, bytes)) {
      for (let at = 0; at < piece.length; at += PIECE_BYTES) {
        yield piece.subarray(at, at + PIECE_BYTES);
        await this.#options.watch.rest(PIECE_MS_MAX);
      }
    }
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
    const group = this.#group;
    this.#group = [];
    await this.#reportFindings();
    if (group.length === 0) return;
    const { watch, report } = this.#options;
    let before: ReadonlySet<string> | undefined;
    const { wrong, holders } = await watch.untilCertain(async (view) => {
      const judgement = await this.#judge(group, view, before);
      before = new Set(judgement.wrong.map(identityOf));
      return judgement;
    });
    for (const { offset } of group) this.walked.captures.add(offset);
    this.walked.holders.addAll(holders);
    for (const { code, facts, detail } of wrong) {
      if (code === 'record-uncatalogued') this.walked.hasUncatalogued = true;
      const examples = code === 'revisit-target-gone' ? [] : [facts.url];
      await report(code, this.#placeOf(facts), { detail, leaning: examples.length, examples });
    }
    await watch.rest(GROUP_MS_MAX);
  }

  /** `before`: what was wrong in the attempt before. Only what is wrong both times counts. */
  async #judge(
    group: readonly RecordFacts[],
    view: CatalogView,
    before: ReadonlySet<string> | undefined,
  ): Promise<Judgement> {
    if (before || !this.#dead) this.#dead = await this.#options.deadIn(this.#segment, view);
    const { offsets, areAllKnown } = this.#dead;
    const found = await findCapturesIn(view, this.#segment.number, group);
    const captures = group.map(({ length }, index) => found[index]!.find(({ place }) => place.length === length));
    const wrong: Wrong[] = [];
    const note = (code: ProblemCode, facts: RecordFacts, detail = facts.url) => wrong.push({ code, facts, detail });
    for (const [index, facts] of group.entries()) {
      const isDead = offsets.has(facts.offset);
      if (isDead && captures[index]) note('deleted-catalogued', facts);
      if (!isDead && !captures[index] && areAllKnown) note('record-uncatalogued', facts);
    }
    const holders = new PlaceSum();
    if (this.#options.isFull) {
      await this.#compareContents(group, captures, view, { holders, note });
      await this.#compareReferents(group, captures, view, { note, isAgain: before !== undefined });
    } else await this.#countHolders(captures, view, holders);
    if (wrong.length === 0) return { wrong, holders, doubt: undefined };
    await this.#options.watch.assertUnchanged(this.#segment);
    const isStale = !before || wrong.some((one) => !before.has(identityOf(one)));
    return { wrong, holders, doubt: { segments: [this.#segment], isStale } };
  }

  async #countHolders(captures: readonly (Capture | undefined)[], view: CatalogView, holders: PlaceSum): Promise<void> {
    const full = captures.filter((capture) => capture?.block && capture.kind !== 'revisit');
    const blocks = await view.getBlocks(full.map((capture) => capture!.block!));
    for (const [index, block] of blocks.entries()) {
      const { place } = full[index]!;
      if (block?.holder.segment === place.segment && block.holder.offset === place.offset)
        holders.add(block.holder.offset, block.key.digest);
    }
  }

  async #compareContents(
    group: readonly RecordFacts[],
    captures: readonly (Capture | undefined)[],
    view: CatalogView,
    { holders, note }: { holders: PlaceSum; note: (code: ProblemCode, facts: RecordFacts) => void },
  ): Promise<void> {
    const digests = group.map(({ payloadDigest }) => this.#archive.fingerprint(payloadDigest));
    const blocks = await view.findBlocks(digests);
    for (const [index, facts] of group.entries()) {
      if (facts.type === 'revisit') continue;
      const fitting = blocks[index]!.filter((block) => block.size === facts.payloadBytes);
      const held = fitting.find(
        ({ holder }) => holder.segment === this.#segment.number && holder.offset === facts.offset,
      );
      if (held) holders.add(facts.offset, held.key.digest);
      const wanted = captures[index]?.block;
      if (!wanted) continue;
      if (fitting.some(({ key }) => compareBlockKeys(key, wanted) === 0)) continue;
      const [block] = await view.getBlocks([wanted]);
      // A holder with changed bytes is reported with all its captures, when the holders are examined.
      if (block?.holder.segment === this.#segment.number && block.holder.offset === facts.offset) continue;
      note('content-changed', facts);
    }
  }

  /**
   * Checks that the record which a revisit names by URI and date is in the archive, so that other tools find it too.
   * Nearly always that record is the holder of the content, so this is checked first, with one row of the catalog.
   * There may be many other captures of that URL and time.
   */
  async #compareReferents(
    group: readonly RecordFacts[],
    captures: readonly (Capture | undefined)[],
    view: CatalogView,
    { note, isAgain }: { note: (code: ProblemCode, facts: RecordFacts, detail: string) => void; isAgain: boolean },
  ): Promise<void> {
    const revisits = group.flatMap((facts, index) => {
      const capture = captures[index];
      const time = parseRecordDate(facts.refersToDate);
      if (facts.type !== 'revisit' || !capture?.block || facts.refersToUri === '' || time === undefined) return [];
      return [{ facts, block: capture.block, visit: { urlKey: urlKey(facts.refersToUri), time } }];
    });
    const blocks = await view.getBlocks(revisits.map(({ block }) => block));
    const holders = await view.findCaptures(
      revisits.map(({ visit }, index) => ({ ...visit, at: blocks[index]?.holder ?? NOWHERE })),
    );
    const others = revisits.filter((_, index) => holders[index]!.length === 0);
    const found = await view.findCaptures(others.map(({ visit }) => visit));
    const contents = new Map<readonly Capture[], Set<string>>();
    for (const captures of new Set(found))
      contents.set(captures, new Set(captures.flatMap(({ block }) => (block ? [blockId(block)] : []))));
    const gone: { facts: RecordFacts; content: string }[] = [];
    for (const [index, { facts, block }] of others.entries()) {
      const content = blockId(block);
      const isThere = contents.get(found[index]!)!.has(content);
      if (!isThere && !(await this.#isHeldByDeleted(facts, block, view))) gone.push({ facts, content });
    }
    const wanted = new Set(gone.map(({ content }) => content));
    const deleted =
      isAgain && gone.length > 0
        ? await DeletedReferents.load(this.#archive, view, this.#options.watch, wanted)
        : undefined;
    for (const { facts, content } of gone) {
      const { refersToUri, refersToDate } = facts;
      if (!deleted?.has(content, refersToUri, refersToDate))
        note('revisit-target-gone', facts, `${refersToUri} of ${refersToDate}`);
    }
  }

  /** A deleted record that others refer to stays in its segment until compaction finds another holder. */
  async #isHeldByDeleted(facts: RecordFacts, key: NonNullable<Capture['block']>, view: CatalogView): Promise<boolean> {
    const [block] = await view.getBlocks([key]);
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
    if (fields.length === 0) return;
    await this.#options.watch.assertUnchanged(this.#segment);
    await this.#options.report('digest-disagrees', this.#placeOf(head), { detail: fields.join(', ') });
  }

  async #reportFindings(): Promise<void> {
    const findings = this.#findings.filter(({ level }) => level !== 'note');
    this.#findings = [];
    if (findings.length === 0) return;
    await this.#options.watch.assertUnchanged(this.#segment);
    for (const { level, offset, code, message } of findings) {
      const problem = level === 'error' ? 'record-damaged' : 'record-odd';
      await this.#options.report(problem, this.#placeOf({ offset }), { detail: `${code}, ${message}` });
    }
  }

  #placeOf({ offset }: { readonly offset: number }) {
    const { volume, name } = this.#segment;
    return { volume, segment: name, offset };
  }
}

function identityOf({ code, facts }: Wrong): string {
  return `${facts.offset} ${code}`;
}
