/**
 * Verifies an archive: segments, digests, reference counts, revisits, and the catalog against the segments.
 *
 * ```
 *   check     every byte of the files of the catalog; nothing else begins until they are sound   (full only)
 *   walk      every segment from its beginning, record by record, against the catalog (quick: payloads are not hashed)
 *   count     captures and holders of each segment in the catalog, and references of each block, against the walk
 *   examine   only where the counts differ: which captures and contents are affected
 * ```
 * Memory does not grow with the archive (I9): it contains sums and counts of segments, never lists of records. A
 * missing volume is reported once, by name, and everything in other volumes is verified. The archive does not change
 * while it is verified: stores wait.
 */
import { PinakesError, RunningDigest } from '../../base/index.ts';
import type { Block, Capture, Place, Segment } from '../../catalog/index.ts';
import { formatContentKey } from '../content-key.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { releasePayload } from '../read/record-access.ts';
import { blockId } from '../revisit/catalog-draft.ts';
import { type Problem, type ProblemCode, type ProblemPlace, verifyProblem } from '../verify-problem.ts';
import { ReferenceCount } from './reference-count.ts';
import { type WalkCounts, walkSegment } from './verify-walk.ts';

export type VerifyOptions = {
  /** Whether payloads are hashed. `quick` checks only structure and catalog. */
  readonly depth?: 'quick' | 'full';
  readonly onProblem?: (problem: Problem) => void | Promise<void>;
  readonly onProgress?: (progress: { segment: string; bytes: number }) => void;
  /** Checks that a full verification adds for files beside the segments and the catalog. */
  readonly others?: (signal: AbortSignal | undefined) => AsyncIterable<Problem>;
  readonly signal?: AbortSignal | undefined;
};

const NO_COUNTS = {
  segments: 0,
  bytes: 0,
  records: 0,
  captures: 0,
  blocks: 0,
  unresolved: 0,
  errors: 0,
  warnings: 0,
};

export type VerifyReport = typeof NO_COUNTS;

/** The number of broken contents whose captures are searched for in one pass. */
const BROKEN_AT_ONCE = 10_000;
const EXAMPLES_MAX = 5;

export async function verifyArchive(archive: OpenedArchive, options: VerifyOptions = {}): Promise<VerifyReport> {
  const verification = new Verification(archive, options);
  await archive.exclusive(() => verification.run());
  return verification.finish();
}

/** A volume or a segment whose contents cannot be read at all. */
type Lost = { readonly code: ProblemCode; readonly place: ProblemPlace; readonly detail: string } & {
  contents: number;
  leaning: number;
  records: number;
  readonly examples: string[];
  /** Segments of other volumes whose tombstones are in this volume: which of their records were deleted is unknown. */
  readonly tombstonesOf: Set<string>;
};

type Broken = {
  readonly block: Block;
  readonly code: ProblemCode;
  readonly detail: string;
  readonly examples: string[];
};

class Verification {
  readonly #archive: OpenedArchive;
  readonly #options: VerifyOptions;
  readonly #isFull: boolean;
  readonly #report: VerifyReport = { ...NO_COUNTS };
  readonly #met = new Map<number, WalkCounts>();
  readonly #captureCounts = new Map<number, number>();
  readonly #holderCounts = new Map<number, number>();
  /** For the number of each lost segment, the volume or segment that could not be read. */
  readonly #lost = new Map<number, Lost>();
  readonly #lostVolumes = new Map<string, Lost>();
  readonly #references = new ReferenceCount();

  constructor(archive: OpenedArchive, options: VerifyOptions) {
    this.#archive = archive;
    this.#options = options;
    this.#isFull = options.depth !== 'quick';
  }

  async run(): Promise<void> {
    const { damage } = this.#archive.snapshots;
    if (damage)
      await this.#reportProblem(
        verifyProblem('snapshots-damaged', {}, { detail: `${damage.where}, ${damage.detail}` }),
      );
    // A damaged catalog is not queried, since it may answer wrongly or end the process.
    if (this.#isFull && (await this.#isCatalogDamaged())) return;
    for (const { name } of this.#archive.volumes.settings()) {
      const failure = this.#archive.volumes.failureOf(name);
      if (failure) this.#loseVolume(name, failure);
      else
        for (const file of await this.#archive.volumes.misnamed(name))
          await this.#reportProblem(verifyProblem('segment-misnamed', { volume: name, segment: file }));
    }
    const segments = await this.#archive.segmentRegistry.all();
    for (const segment of segments) await this.#verifySegment(segment);
    for (const segment of this.#archive.segmentRegistry.unread.difference(new Set(segments.map(({ name }) => name))))
      await this.#reportProblem(verifyProblem('segment-unreadable', { segment }));
    await this.#countCatalog();
    await this.#examine();
    for await (const wrong of this.#references.wrong(this.#archive.catalog)) {
      const { recorded, counted, examples, key } = wrong;
      const detail = recorded === undefined ? key : `${key}, ${recorded} in the catalog, ${counted} counted`;
      const leaning = recorded === undefined ? counted : 0;
      await this.#reportProblem(
        verifyProblem(
          recorded === undefined ? 'content-missing' : 'references-wrong',
          {},
          { detail, leaning, examples },
        ),
      );
    }
  }

  /** The checks that do not need the catalog and do not delay stores. */
  async finish(): Promise<VerifyReport> {
    const { others, signal } = this.#options;
    if (this.#isFull && others) for await (const problem of others(signal)) await this.#reportProblem(problem);
    return this.#report;
  }

  async #isCatalogDamaged(): Promise<boolean> {
    let isDamaged = false;
    for await (const { file, detail } of this.#archive.catalog.check()) {
      this.#options.signal?.throwIfAborted();
      isDamaged = true;
      await this.#reportProblem(verifyProblem('catalog-damaged', {}, { detail: `${file}: ${detail}` }));
    }
    return isDamaged;
  }

  async #verifySegment(segment: Segment): Promise<void> {
    const { volume, name, number } = segment;
    const lostVolume = this.#lostVolumes.get(volume);
    if (lostVolume) {
      this.#lost.set(number, lostVolume);
      return;
    }
    const before = this.#report.bytes;
    try {
      const [info] = await this.#archive.volumes.get(volume).stat([name]);
      if (!info) return this.#lose(segment, 'segment-missing', '');
      const sizes = `${info.bytes} bytes, ${segment.bytes} in the catalog`;
      if (info.bytes < segment.bytes) await this.#reportSegment(segment, 'segment-short', sizes);
      const isUnread = info.bytes > segment.bytes && this.#archive.segmentRegistry.unread.has(name);
      if (info.bytes > segment.bytes && !isUnread) await this.#reportSegment(segment, 'segment-grown', sizes);
      const dead = await this.#deadOf(segment);
      const counts = await walkSegment(this.#archive, segment, dead.offsets, {
        isFull: this.#isFull,
        onProblem: async (problem) => {
          if (dead.areAllKnown || problem.code !== 'record-uncatalogued') await this.#reportProblem(problem);
        },
        onBytes: (bytes) => this.#options.onProgress?.({ segment: name, bytes: before + bytes }),
        signal: this.#options.signal,
      });
      if (isUnread) await this.#reportSegment(segment, 'segment-unreadable', sizes);
      this.#met.set(number, counts);
      this.#report.records += counts.records;
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      if (error.code === 'VOLUME_MISSING') this.#lost.set(number, this.#loseVolume(volume, error));
      else this.#lose(segment, 'segment-unreadable', error.message);
    }
    this.#report.segments++;
    this.#report.bytes += segment.bytes;
  }

  /** Deleted records of a segment. Their tombstones may be in another volume, which may be missing. */
  async #deadOf(segment: Segment): Promise<{ offsets: Set<number>; areAllKnown: boolean }> {
    const { tombstones } = this.#archive;
    const applied = await tombstones.listApplied(segment, (volume, failure) => this.#loseVolume(volume, failure));
    let areAllKnown = true;
    for (const [volume, { tombstonesOf }] of this.#lostVolumes) {
      if (!(await tombstones.areIn(volume, segment.name))) continue;
      tombstonesOf.add(segment.name);
      areAllKnown = false;
    }
    return { offsets: new Set(applied.map(({ offset }) => offset)), areAllKnown };
  }

  #loseVolume(volume: string, failure: PinakesError): Lost {
    const known = this.#lostVolumes.get(volume);
    if (known) return known;
    const lost: Lost = newLost('volume-missing', { volume }, failure.message);
    this.#lostVolumes.set(volume, lost);
    return lost;
  }

  #lose({ volume, name, number }: Segment, code: ProblemCode, detail: string): void {
    this.#lost.set(number, newLost(code, { volume, segment: name }, detail));
  }

  /** One pass over the captures and one over the blocks. */
  async #countCatalog(): Promise<void> {
    const { catalog } = this.#archive;
    for await (const page of catalog.captures({})) {
      this.#options.signal?.throwIfAborted();
      for (const capture of page) {
        this.#report.captures++;
        this.#references.addCapture(capture);
        countUp(this.#captureCounts, capture.place.segment);
        if (capture.block) continue;
        this.#report.unresolved++;
        await this.#reportAt(capture.place, 'revisit-unresolved', capture.url, 1, [capture.url]);
      }
    }
    for await (const page of catalog.blocks()) {
      for (const block of page) {
        this.#report.blocks++;
        this.#references.addBlock(block);
        countUp(this.#holderCounts, block.holder.segment);
      }
    }
    const totals = await catalog.totals();
    if (totals.captures !== this.#report.captures || totals.blocks !== this.#report.blocks) {
      const detail = `${totals.captures} captures and ${totals.blocks} contents, counted ${this.#report.captures} and ${this.#report.blocks}`;
      await this.#reportProblem(verifyProblem('totals-wrong', {}, { detail }));
    }
  }

  /** Finds the affected captures and contents where counts differ, and where a segment could not be walked. */
  async #examine(): Promise<void> {
    const isShort = (counts: Map<number, number>, of: 'captures' | 'holders') => (segment: number) =>
      !this.#lost.has(segment) && (this.#met.get(segment)?.[of] ?? 0) !== (counts.get(segment) ?? 0);
    const shortHolders = new Set([...this.#holderCounts.keys()].filter(isShort(this.#holderCounts, 'holders')));
    const shortCaptures = new Set([...this.#captureCounts.keys()].filter(isShort(this.#captureCounts, 'captures')));
    let broken = new Map<string, Broken>();
    const flush = async () => {
      const group = broken;
      broken = new Map();
      await this.#reportBroken(group);
    };
    if (shortHolders.size > 0 || this.#lost.size > 0) {
      for await (const page of this.#archive.catalog.blocks()) {
        for (const block of page) {
          this.#options.signal?.throwIfAborted();
          const lost = this.#lost.get(block.holder.segment);
          if (lost) {
            lost.contents++;
            lost.leaning += block.references;
          } else if (shortHolders.has(block.holder.segment)) {
            const fault = await this.#faultOf(block);
            if (fault) broken.set(blockId(block.key), { block, ...fault, examples: [] });
          }
        }
        if (broken.size >= BROKEN_AT_ONCE) await flush();
      }
    }
    await flush();
    if (shortCaptures.size > 0 || this.#lost.size > 0) await this.#examineCaptures(shortCaptures);
    for (const lost of new Set([...this.#lostVolumes.values(), ...this.#lost.values()])) {
      const { code, place, detail, leaning, contents, records, examples, tombstonesOf } = lost;
      const said = [detail, `${records} captures have their record there, ${contents} contents are held there`];
      if (tombstonesOf.size > 0)
        said.push(`tombstones of other volumes lie there, of ${[...tombstonesOf].slice(0, EXAMPLES_MAX).join(', ')}`);
      await this.#reportProblem(
        verifyProblem(code, place, { detail: said.filter(Boolean).join('; '), leaning, examples }),
      );
    }
  }

  async #examineCaptures(short: ReadonlySet<number>): Promise<void> {
    for await (const page of this.#archive.catalog.captures({})) {
      this.#options.signal?.throwIfAborted();
      for (const capture of page) {
        const lost = this.#lost.get(capture.place.segment);
        if (lost) {
          lost.records++;
          if (lost.examples.length < EXAMPLES_MAX) lost.examples.push(capture.url);
        } else if (short.has(capture.place.segment) && !(await this.#isRecordOf(capture)))
          await this.#reportAt(capture.place, 'capture-without-record', capture.url, 1, [capture.url]);
      }
    }
  }

  async #isRecordOf(capture: Capture): Promise<boolean> {
    try {
      const { head, payload } = await this.#archive.access.open(capture.place);
      await releasePayload(payload);
      return head.targetUri === capture.url;
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      return false;
    }
  }

  /** The fault of the holder of a block. Undefined when the holder is sound. */
  async #faultOf(block: Block): Promise<{ code: ProblemCode; detail: string } | undefined> {
    const key = formatContentKey('', block.key).slice(1);
    try {
      const { payload } = await this.#archive.access.open(block.holder);
      if (!this.#isFull) {
        await releasePayload(payload);
        return undefined;
      }
      const running = new RunningDigest('sha256');
      let bytes = 0;
      for await (const piece of payload) {
        this.#options.signal?.throwIfAborted();
        running.update(piece);
        bytes += piece.length;
      }
      const digest = this.#archive.fingerprint(running.finish().bytes);
      if (bytes === block.size && Buffer.compare(digest, block.key.digest) === 0) return undefined;
      return { code: 'content-changed', detail: key };
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      return { code: 'content-lost', detail: `${key}, ${error.message}` };
    }
  }

  /** Reports broken contents with some of their captures. */
  async #reportBroken(group: ReadonlyMap<string, Broken>): Promise<void> {
    if (group.size === 0) return;
    for await (const page of this.#archive.catalog.captures({})) {
      for (const { block, url } of page) {
        const broken = block && group.get(blockId(block));
        if (broken && broken.examples.length < EXAMPLES_MAX) broken.examples.push(url);
      }
    }
    for (const { block, code, detail, examples } of group.values())
      await this.#reportAt(block.holder, code, detail, block.references, examples);
  }

  #reportSegment({ volume, name }: Segment, code: ProblemCode, detail: string): Promise<void> {
    return this.#reportProblem(verifyProblem(code, { volume, segment: name }, { detail }));
  }

  async #reportAt(
    place: Place,
    code: ProblemCode,
    detail: string,
    leaning: number,
    examples: readonly string[],
  ): Promise<void> {
    const segment = await this.#archive.segmentRegistry.find(place.segment);
    const where = { volume: segment?.volume, segment: segment?.name, offset: place.offset };
    return this.#reportProblem(verifyProblem(code, where, { detail, leaning, examples }));
  }

  async #reportProblem(problem: Problem): Promise<void> {
    if (problem.level === 'error') this.#report.errors++;
    else if (problem.level === 'warning') this.#report.warnings++;
    await this.#options.onProblem?.(problem);
  }
}

function newLost(code: ProblemCode, place: ProblemPlace, detail: string): Lost {
  return { code, place, detail, contents: 0, leaning: 0, records: 0, examples: [], tombstonesOf: new Set() };
}

function countUp(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
