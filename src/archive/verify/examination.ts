/**
 * Examines one by one the captures and contents of the segments in which the walk did not meet what the catalog has,
 * and counts those in volumes and segments that cannot be read.
 *
 * A fault counts only when it is found twice: in between, the change in progress is completed, and the capture or the
 * block is asked for again.
 */
import { PinakesError, RunningDigest } from '../../base/index.ts';
import type { Block, Capture, CatalogView, Place } from '../../catalog/index.ts';
import { formatContentKey } from '../content-key.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { releasePayload } from '../read/record-access.ts';
import { blockId, isStill } from '../revisit/catalog-draft.ts';
import type { ProblemCode } from '../verify-problem.ts';
import { PAGE_MS_MAX } from './catalog-count.ts';
import type { LostParts } from './lost.ts';
import type { Report } from './problem-reporter.ts';
import type { SegmentWatch } from './segment-watch.ts';

/** The number of contents that are examined in the order of their places, and searched for in one pass. */
const AT_ONCE = 10_000;
const EXAMPLES_MAX = 5;
const PIECE_MS_MAX = 4;

export type ExaminationOptions = {
  readonly isFull: boolean;
  readonly watch: SegmentWatch;
  readonly lost: LostParts;
  /** Whether a record of the archive is in doubt: the walk may not have met it. */
  readonly isDoubted: (place: Place, of: 'captures' | 'holders') => boolean;
  readonly report: Report;
  readonly signal: AbortSignal | undefined;
};

type Fault = { readonly code: ProblemCode; readonly detail: string };

type Broken = Fault & { readonly block: Block; readonly examples: string[] };

export class Examination {
  readonly #archive: OpenedArchive;
  readonly #options: ExaminationOptions;

  constructor(archive: OpenedArchive, options: ExaminationOptions) {
    this.#archive = archive;
    this.#options = options;
  }

  async examineContents(): Promise<void> {
    const { lost, isDoubted, watch } = this.#options;
    let doubted: Block[] = [];
    await using view = await this.#archive.catalog.longView();
    for await (const page of view.blocks()) {
      for (const block of page) {
        const loss = lost.of(block.holder.segment);
        if (loss) {
          loss.contents++;
          loss.leaning += block.references;
        } else if (isDoubted(block.holder, 'holders')) doubted.push(block);
      }
      await watch.rest(PAGE_MS_MAX);
      if (doubted.length < AT_ONCE) continue;
      await this.#examineBlocks(doubted, view);
      doubted = [];
    }
    await this.#examineBlocks(doubted, view);
  }

  async examineCaptures(): Promise<void> {
    const { lost, isDoubted, watch } = this.#options;
    await using view = await this.#archive.catalog.longView();
    for await (const page of view.captures({})) {
      for (const capture of page) {
        const loss = lost.of(capture.place.segment);
        if (loss) loss.addCapture(capture.url);
        else if (isDoubted(capture.place, 'captures')) await this.#examineCapture(capture);
      }
      await watch.rest(PAGE_MS_MAX);
    }
  }

  /** Reports a problem of a record with the volume and the segment it is in. */
  async reportAt(place: Place, { code, detail }: Fault, leaning: number, examples: readonly string[]): Promise<void> {
    const segment = await this.#options.watch.now(place.segment);
    const where = { volume: segment?.volume, segment: segment?.name, offset: place.offset };
    await this.#options.report(code, where, { detail, leaning, examples });
  }

  /** The capture as the catalog has it now. Undefined when it was deleted. */
  async currentOf(capture: Capture, view: CatalogView): Promise<Capture | undefined> {
    const { urlKey, time, place, hash: ofHash } = capture;
    const [atPlace] = await view.findCaptures([{ urlKey, time, at: place }]);
    const [found] = atPlace!.length > 0 ? [atPlace] : await view.findCaptures([{ urlKey, time, ofHash }]);
    return found!.find((now) => isStill(capture, now));
  }

  async #examineCapture(capture: Capture): Promise<void> {
    const { watch } = this.#options;
    const { current } = await watch.untilCertain(async (view, attempt) => {
      const current = attempt === 0 ? capture : await this.currentOf(capture, view);
      const before = current && (await watch.now(current.place.segment));
      if (!current || (await this.#isRecordOf(current))) return { current: undefined, doubt: undefined };
      const after = await watch.now(current.place.segment);
      await using later = await this.#archive.catalog.view();
      const isMoved = !isSamePlace(current.place, (await this.currentOf(current, later))?.place);
      return { current, doubt: { segments: [before], isStale: isMoved || after?.volume !== before?.volume } };
    });
    await watch.rest(PIECE_MS_MAX);
    if (!current) return;
    const fault = { code: 'capture-without-record', detail: current.url } as const;
    await this.reportAt(current.place, fault, 1, [current.url]);
  }

  async #isRecordOf({ place, url }: Capture): Promise<boolean> {
    try {
      const { head, payload } = await this.#archive.access.open(place);
      await releasePayload(payload);
      return head.targetUri === url;
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      return false;
    }
  }

  /** Reports broken contents with some of their captures in a view of the catalog. */
  async #examineBlocks(blocks: readonly Block[], view: CatalogView): Promise<void> {
    const broken = new Map<string, Broken>();
    // In the order of their places, so that the disk reads forwards.
    for (const block of blocks.toSorted(byHolder)) {
      const fault = await this.#certainFault(block);
      if (fault) broken.set(blockId(fault.block.key), { ...fault, examples: [] });
    }
    if (broken.size === 0) return;
    for await (const page of view.captures({})) {
      for (const { block, url } of page) {
        const found = block && broken.get(blockId(block));
        if (found && found.examples.length < EXAMPLES_MAX) found.examples.push(url);
      }
      await this.#options.watch.rest(PAGE_MS_MAX);
    }
    for (const { block, code, detail, examples } of broken.values())
      await this.reportAt(block.holder, { code, detail }, block.references, examples);
  }

  async #certainFault(block: Block): Promise<(Fault & { readonly block: Block }) | undefined> {
    const { watch } = this.#options;
    const { found } = await watch.untilCertain(async (view, attempt) => {
      const [current] = attempt === 0 ? [block] : await view.getBlocks([block.key]);
      const before = current && (await watch.now(current.holder.segment));
      const fault = current && (await this.#faultOf(current));
      if (!fault) return { found: undefined, doubt: undefined };
      const after = await watch.now(current.holder.segment);
      const [later] = await this.#archive.catalog.getBlocks([block.key]);
      const isStale = after?.volume !== before?.volume || !isSamePlace(current.holder, later?.holder);
      return { found: { ...fault, block: current }, doubt: { segments: [before], isStale } };
    });
    await watch.rest(PIECE_MS_MAX);
    return found;
  }

  /** The fault of the holder of a block. Undefined when the holder is sound. */
  async #faultOf(block: Block): Promise<Fault | undefined> {
    const key = formatContentKey('', block.key).slice(1);
    try {
      const { payload } = await this.#archive.access.open(block.holder);
      if (!this.#options.isFull) {
        await releasePayload(payload);
        return undefined;
      }
      const running = new RunningDigest('sha256');
      let bytes = 0;
      for await (const piece of payload) {
        running.update(piece);
        bytes += piece.length;
        await this.#options.watch.rest(PIECE_MS_MAX);
      }
      const digest = this.#archive.fingerprint(running.finish().bytes);
      if (bytes === block.size && Buffer.compare(digest, block.key.digest) === 0) return undefined;
      return { code: 'content-changed', detail: key };
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      this.#options.signal?.throwIfAborted();
      return { code: 'content-lost', detail: `${key}, ${error.message}` };
    }
  }
}

function isSamePlace(place: Place, other: Place | undefined): boolean {
  return place.segment === other?.segment && place.offset === other.offset;
}

function byHolder({ holder: a }: Block, { holder: b }: Block): number {
  return a.segment - b.segment || a.offset - b.offset;
}
