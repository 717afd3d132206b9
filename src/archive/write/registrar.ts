/**
 * Enters records of added files into the catalog: captures, blocks, declared digests, reference counts.
 *
 * Healing and rebuilding enter the same of a segment (ledger/own-records.ts). A record that occurs twice in files that
 * were added in place is entered as two captures. An add by copying skips the second record (see `findKnown`).
 */
import { assert, copyOf, type Digest, equal, parseDigest } from '../../base/index.ts';
import type { BlockKey, Capture, CaptureKind, CatalogView, Place } from '../../catalog/index.ts';
import {
  type CaptureChecks,
  type ContentFacts,
  type Decision,
  decide,
  findCapturesIn,
  findCapturesOf,
  OutsideCapture,
  type Question,
  type RecordFacts,
} from '../../ledger/index.ts';
import type { CatalogDraft } from '../revisit/catalog-draft.ts';
import { KnownCaptures } from '../revisit/known-captures.ts';
import { formatClues, unresolvedNote } from '../revisit/revisit-clues.ts';
import { aliasBytes, RevisitResolver } from '../revisit/revisit-resolution.ts';
import type { AddedCaptures } from './added-captures.ts';

export type Registration = {
  readonly facts: RecordFacts;
  readonly capture: Capture | undefined;
  /** Whether the catalog already has the record at this place. */
  readonly isKnown: boolean;
};

/** The facts of a decision that do not follow from the record. */
type KnownFacts = Pick<ContentFacts, 'isShareable' | 'sharedBytesMin' | 'isReadable' | 'isWorth'>;

const KEPT: KnownFacts = { isShareable: false, sharedBytesMin: 0 };

export class Registrar {
  readonly #catalog: CatalogView;
  readonly #draft: CatalogDraft;
  readonly #revisits: RevisitResolver;
  /** Captures of the catalog that were looked up, and captures that were entered here. */
  readonly #known = new KnownCaptures();
  /** Captures of the catalog with records in the segment, by offset. */
  readonly #atOffset = new Map<number, Capture>();
  readonly #fingerprint: (digest: Uint8Array) => Uint8Array;
  /** Blocks that were entered here, by their key in the draft. */
  readonly #fresh = new Map<BlockKey, RecordFacts>();
  /** Blocks whose holders cannot be read. */
  readonly #lost = new Set<BlockKey>();

  /** The declared digests that were noted for contents already held. */
  readonly #declared = new Map<string, BlockKey>();
  readonly #copyingFor: AddedCaptures | undefined;
  readonly #segment: number | undefined;
  readonly #checks: CaptureChecks | undefined;
  /** The records of the captures of the draft, in their order. */
  readonly entered: RecordFacts[] = [];

  /**
   * `copyingFor`: an add is about to copy the records, so their places are still empty; it has entered these captures
   * before. `segment`: the records are in this segment. `checks`: the records come from outside, so the commit checks
   * that their captures are new (C5).
   */
  constructor(
    catalog: CatalogView,
    draft: CatalogDraft,
    fingerprint: (digest: Uint8Array) => Uint8Array,
    options: { checks?: CaptureChecks | undefined } & ({ segment: number } | { copyingFor: AddedCaptures }),
  ) {
    this.#checks = options.checks;
    this.#copyingFor = 'copyingFor' in options ? options.copyingFor : undefined;
    this.#segment = 'segment' in options ? options.segment : undefined;
    this.#catalog = catalog;
    this.#draft = draft;
    this.#fingerprint = fingerprint;
    this.#revisits = new RevisitResolver(catalog, draft, {
      fingerprint,
      isOwn: false,
      asksNames: this.#copyingFor !== undefined,
    });
  }

  /**
   * Looks up in few calls everything that is needed to enter these records. Some records that are about to be copied
   * are certainly not known captures: whole records with a new content, and records whose content only this add has
   * stored. Their URLs are not looked up.
   */
  async prepare(records: readonly RecordFacts[]): Promise<void> {
    const copyingFor = this.#copyingFor;
    const captures = records.filter((facts) => facts.kind !== undefined);
    await this.#draft.load(captures.filter((facts) => facts.type !== 'revisit').map((facts) => this.#digest(facts)));
    await this.#revisits.load(captures.filter((facts) => facts.type === 'revisit'));
    if (copyingFor) await this.#askKnown(captures.filter((facts) => !this.#isCertainlyNew(facts, copyingFor)));
    else await this.#askAtOffsets(captures);
  }

  async #askKnown(captures: readonly RecordFacts[]): Promise<void> {
    if (captures.length === 0) return;
    const found = await findCapturesOf(this.#catalog, captures);
    for (const same of new Set(found)) for (const capture of same) this.#known.add(capture);
  }

  async #askAtOffsets(captures: readonly RecordFacts[]): Promise<void> {
    const found = await findCapturesIn(this.#catalog, this.#segment!, captures);
    for (const capture of found.flat()) this.#atOffset.set(capture.place.offset, capture);
  }

  #isCertainlyNew(facts: RecordFacts, own: AddedCaptures): boolean {
    if (facts.type === 'revisit' || !facts.isComplete) return false;
    return own.isNew(facts, this.#draft.blocksOf(this.#digest(facts)));
  }

  /**
   * The capture of this record, if the archive already has it at any place. Careless writers give one id to records
   * with different contents. Such records are different captures, unless they are truncated: the content of a truncated
   * record is not compared.
   */
  findKnown(facts: RecordFacts, collection: number): Capture | undefined {
    const { urlKey: key, time, hash } = facts;
    if (time === undefined) return undefined;
    const digest = facts.type === 'revisit' || !facts.isComplete ? undefined : this.#digest(facts);
    return this.#known.find({ urlKey: key, time, hash, collection }, digest);
  }

  /** What becomes of a full record, as far as these facts decide it. */
  decide(facts: RecordFacts, known: KnownFacts): Decision | Question {
    const { payloadBytes: size, overflow: number } = facts;
    return decide({ size, number, blocks: this.#draft.blocksOf(this.#digest(facts)), ...known });
  }

  /** Whether the content of a full record that is kept is held already. */
  isHeld(facts: RecordFacts): boolean {
    return this.decide(facts, KEPT).kind === 'held';
  }

  /** Enters a record at its place. */
  async enter(facts: RecordFacts, place: Place, collection: number): Promise<Registration> {
    if (facts.kind !== 'revisit') return this.enterContent(facts, place, collection);
    const known = this.#findAt(facts, place, collection);
    return known ?? this.#enterAs(facts, place, collection, await this.resolve(facts));
  }

  /** Enters any record except a revisit. After `prepare`, this needs no call to the catalog. */
  enterContent(facts: RecordFacts, place: Place, collection: number): Registration {
    assert(facts.kind !== 'revisit', 'a revisit has no content of its own');
    if (!facts.kind) return { facts, capture: undefined, isKnown: false };
    const known = this.#findAt(facts, place, collection);
    return known ?? this.#enterAs(facts, place, collection, this.#holdBlock(facts, place));
  }

  /** A record that occurs twice is two captures. A deletion removes both, and each has its own tombstone. */
  #findAt(facts: RecordFacts, place: Place, collection: number): Registration | undefined {
    const capture = this.#atOffset.get(place.offset);
    const isSame = capture?.hash === facts.hash && capture.collection === collection;
    return isSame ? { facts, capture, isKnown: true } : undefined;
  }

  #enterAs(facts: RecordFacts, place: Place, collection: number, block: BlockKey | undefined): Registration {
    if (block && facts.alsoDeclared !== '') this.#declare(facts.alsoDeclared, block);
    const capture = captureOf(facts, facts.kind!, place, collection, block);
    this.#put(capture, facts);
    if (facts.kind === 'revisit' && !block) this.#draft.putNote(unresolvedNote(place), formatClues(facts));
    return { facts, capture, isKnown: false };
  }

  /**
   * Enters a capture for a revisit that we write ourselves. `isNamed`: the catalog has the declared digest of the
   * content.
   */
  enterRevisit(facts: RecordFacts, place: Place, collection: number, block: BlockKey, isNamed: boolean): void {
    this.#put(captureOf(facts, 'revisit', place, collection, block), facts);
    if (!isNamed) this.#declare(facts.declaredDigest, block);
  }

  #put(capture: Capture, facts: RecordFacts): void {
    this.#draft.putCapture(capture, this.#checks && new OutsideCapture(capture, this.#checks));
    this.entered.push(facts);
    this.#revisits.addCapture(capture);
    if (this.#copyingFor) this.#known.add(capture);
  }

  /**
   * Whether a foreign revisit that is about to be copied names a capture that the archive stored as a revisit, since it
   * had the content.
   */
  namesRevisit(facts: RecordFacts): boolean {
    return this.#revisits.namesRevisit(facts);
  }

  /** The content of a revisit, if the archive has it. */
  resolve(facts: RecordFacts): Promise<BlockKey | undefined> {
    return this.#revisits.resolve(facts);
  }

  /** The record that holds a block, when it was entered here and may not be readable yet. */
  freshHolder(block: BlockKey): RecordFacts | undefined {
    const held = this.#draft.block(block);
    return held && this.#fresh.get(held.key);
  }

  freshHolders(): Iterable<readonly [BlockKey, RecordFacts]> {
    return this.#fresh;
  }

  /**
   * Called when the record that holds a block cannot be read. The next entered record with this content becomes the
   * holder.
   */
  loseHolder(block: BlockKey): void {
    this.#lost.add(block);
    this.#copyingFor?.forget();
  }

  holderOf(block: BlockKey): Place {
    const held = this.#draft.block(block);
    assert(held, 'a content that is held has a holder');
    return held.holder;
  }

  #digest(facts: RecordFacts): Uint8Array {
    return this.#fingerprint(facts.payloadDigest);
  }

  /** The block of a full record that is kept: held, or entered here. */
  #holdBlock(facts: RecordFacts, place: Place): BlockKey {
    const decision = this.#decideKept(facts);
    if (decision.kind === 'held' || decision.kind === 'lost') {
      const { key } = decision.block;
      if (decision.kind === 'lost') {
        this.#lost.delete(key);
        this.#draft.moveHolder(key, place);
        this.#fresh.set(key, facts);
      } else this.#draft.addSpare(key, facts.payloadBytes, place);
      this.#declareOnce(facts.declaredDigest, key);
      return key;
    }
    assert('overflow' in decision, 'nothing more is asked about a record that is kept');
    const key: BlockKey = { digest: copyOf(this.#digest(facts)), overflow: decision.overflow };
    this.#draft.addBlock(key, facts.payloadBytes, place);
    this.#fresh.set(key, facts);
    this.#declare(facts.declaredDigest, key);
    return key;
  }

  #decideKept(facts: RecordFacts): Decision | Question {
    if (this.#lost.size > 0) {
      const decision = this.decide(facts, { ...KEPT, isReadable: false });
      if (decision.kind === 'lost' && this.#lost.has(decision.block.key)) return decision;
    }
    return this.decide(facts, KEPT);
  }

  /** Notes the digest that a writer declared for a content, for revisits that declare the same. */
  #declare(text: string, block: BlockKey): void {
    const declared = parseDigest(text);
    if (!declared || (declared.algorithm === 'sha256' && equal(declared.bytes, block.digest))) return;
    this.#putAlias(declared, block);
  }

  /** Like `#declare`, but only once for a content that many of the records have, such as the empty content. */
  #declareOnce(text: string, block: BlockKey): void {
    if (this.#declared.get(text) === block) return;
    this.#declared.set(text, block);
    this.#declare(text, block);
  }

  #putAlias(declared: Digest, block: BlockKey): void {
    const bytes = aliasBytes(declared);
    this.#revisits.addAlias(bytes, block);
    this.#draft.putAlias({ declared: bytes, block });
  }
}

function captureOf(
  { urlKey: key, time, url, status, mime, hash }: RecordFacts,
  kind: CaptureKind,
  place: Place,
  collection: number,
  block: BlockKey | undefined,
): Capture {
  return { urlKey: key, time: time!, place, url, kind, collection, status, mime, block, hash };
}
