/**
 * Enters records into the catalog that stand in a segment already, or are about to: captures, blocks, declared digests, reference counts.
 *
 * The same routine serves adding, healing after a crash, and rebuilding, so that all three see the same archive. Every record is a capture: one
 * that stands twice, in files that were added in place, is entered twice. One that would be copied a second time is not (see `findKnown`).
 */
import { assert, type Digest, equal, parseDigest, parseW3cDate, toHex } from '../base/index.ts';
import type { BlockKey, Capture, CatalogView, Place } from '../catalog/index.ts';
import { urlKey } from '../url/index.ts';
import { blockId, type CatalogDraft } from './catalog-draft.ts';
import { captureHash, captureKindOf, type RecordFacts, timeOf } from './record-facts.ts';
import { aliasBytes, BatchMemory, resolveRevisit, visitAlias } from './revisit-resolution.ts';

export const UNRESOLVED_NOTE = 'unresolved:';

export type Registration = {
  readonly facts: RecordFacts;
  readonly capture: Capture | undefined;
  /** Whether the catalog has the record at this place already. */
  readonly isKnown: boolean;
};

export class Registrar {
  readonly #catalog: CatalogView;
  readonly #draft: CatalogDraft;
  readonly #memory = new BatchMemory();
  readonly #known = new Map<string, Capture[]>();
  readonly #fingerprint: (digest: Uint8Array) => Uint8Array;
  readonly #fresh = new Map<string, RecordFacts>();

  readonly #isOwn: boolean;

  /** `isOwn`: the records stand in segments of the archive, and say themselves which overflow of their digest they are. */
  constructor(
    catalog: CatalogView,
    draft: CatalogDraft,
    fingerprint: (digest: Uint8Array) => Uint8Array,
    options: { isOwn?: boolean } = {},
  ) {
    this.#isOwn = options.isOwn ?? false;
    this.#catalog = catalog;
    this.#draft = draft;
    this.#fingerprint = fingerprint;
  }

  /** Asks the catalog everything that entering these records needs to know, in few calls. */
  async prepare(records: readonly RecordFacts[]): Promise<void> {
    const captures = records.filter((facts) => captureKindOf(facts) !== undefined);
    await this.#draft.load(captures.filter((facts) => facts.type !== 'revisit').map((facts) => this.#digest(facts)));
    const questions = captures.map((facts) => ({ urlKey: urlKey(facts.url), time: timeOf(facts)! }));
    const found = await this.#catalog.findCaptures(questions);
    for (const [index, question] of questions.entries()) {
      this.#known.set(`${question.time} ${question.urlKey}`, found[index]!);
    }
  }

  /** The capture in the archive that this record is, if it is there already, wherever it stands. */
  findKnown(facts: RecordFacts, collection: number): Capture | undefined {
    return this.#findSame(facts, collection).find((capture) => this.#hasContentOf(capture, facts));
  }

  #findSame(facts: RecordFacts, collection: number): Capture[] {
    const time = timeOf(facts);
    if (time === undefined) return [];
    const hash = captureHash(facts);
    const found = this.#known.get(`${time} ${urlKey(facts.url)}`) ?? [];
    return found.filter((capture) => capture.hash === hash && capture.collection === collection);
  }

  /** Careless writers give one id to records of different contents; these are captures of their own. What is cut short is not. */
  #hasContentOf({ block }: Capture, facts: RecordFacts): boolean {
    if (facts.type === 'revisit' || !facts.isComplete || !block) return true;
    return equal(block.digest, this.#digest(facts));
  }

  /** The block that a full record's payload is already held by: same digest and size (I7). */
  heldBlock(facts: RecordFacts): BlockKey | undefined {
    const blocks = this.#draft.blocksOf(this.#digest(facts));
    if (facts.overflow > 0) return blocks.find((block) => block.key.overflow === facts.overflow)?.key;
    const first = blocks.find((block) => block.key.overflow === 0);
    if (first?.size === facts.payloadBytes) return first.key;
    // In a segment of our own, a record that names no overflow is the first content of its digest, in whatever order segments are read.
    if (this.#isOwn && !first) return undefined;
    return blocks.find((block) => block.size === facts.payloadBytes)?.key;
  }

  /** Enters a record at its place. `isDead`: its capture was deleted, though others may lean on the content. */
  async enter(facts: RecordFacts, place: Place, collection: number, isDead = false): Promise<Registration> {
    const kind = captureKindOf(facts);
    if (!kind) return { facts, capture: undefined, isKnown: false };
    // A record that stands twice is two captures: whoever deletes it means both, and each has its own tombstone.
    const known = this.#findSame(facts, collection).find((capture) => isAt(capture.place, place));
    if (known) return { facts, capture: known, isKnown: true };
    const block = kind === 'revisit' ? await this.resolve(facts) : this.#holdBlock(facts, place);
    const capture: Capture = {
      urlKey: urlKey(facts.url),
      time: timeOf(facts)!,
      place,
      url: facts.url,
      kind,
      collection,
      status: facts.status,
      mime: facts.mime,
      block,
      hash: captureHash(facts),
    };
    if (block && facts.alsoDeclared !== '') this.#declare({ ...facts, declaredDigest: facts.alsoDeclared }, block);
    if (isDead) {
      if (block) this.#putAlias(visitAlias(capture.url, capture.time), block);
      return { facts, capture: undefined, isKnown: false };
    }
    this.#put(capture);
    if (kind === 'revisit' && !block)
      this.#draft.putNote(unresolvedNote(place), JSON.stringify([capture.urlKey, capture.time]));
    return { facts, capture, isKnown: false };
  }

  /** Enters a capture whose record is a revisit that we write ourselves for a block that is held. */
  enterRevisit(facts: RecordFacts, place: Place, collection: number, block: BlockKey): Capture {
    const capture: Capture = {
      urlKey: urlKey(facts.url),
      time: timeOf(facts)!,
      place,
      url: facts.url,
      kind: 'revisit',
      collection,
      status: facts.status,
      mime: facts.mime,
      block,
      hash: captureHash(facts),
    };
    this.#put(capture);
    this.#declare(facts, block);
    return capture;
  }

  #put(capture: Capture): void {
    this.#draft.putCapture(capture);
    this.#memory.addCapture(capture);
    const id = `${capture.time} ${capture.urlKey}`;
    this.#known.set(id, [...(this.#known.get(id) ?? []), capture]);
  }

  /** Whether a foreign revisit names a capture that is itself a revisit here, since the archive held its content already. */
  async namesRevisit(facts: RecordFacts): Promise<boolean> {
    const time = parseW3cDate(facts.refersToDate);
    if (time === undefined || facts.refersToUri === '') return false;
    const question = { urlKey: urlKey(facts.refersToUri), time };
    const [found] = await this.#catalog.findCaptures([question]);
    const named = [...found!, ...(this.#known.get(`${question.time} ${question.urlKey}`) ?? [])];
    const same = named.filter(({ url }) => url === facts.refersToUri);
    return same.length > 0 && same.every(({ kind }) => kind === 'revisit');
  }

  /** The content of a revisit, as far as the archive has it. */
  resolve(facts: RecordFacts): Promise<BlockKey | undefined> {
    return resolveRevisit(facts, this.#catalog, this.#draft, this.#memory, {
      fingerprint: this.#fingerprint,
      isOwn: this.#isOwn,
    });
  }

  /** The record that holds a block, when it was entered here and may not be readable yet. */
  freshHolder(block: BlockKey): RecordFacts | undefined {
    return this.#fresh.get(blockId(block));
  }

  holderOf(block: BlockKey): Place {
    const held = this.#draft.block(block);
    assert(held, 'a content that is held has a holder');
    return held.holder;
  }

  #digest(facts: RecordFacts): Uint8Array {
    return this.#fingerprint(facts.payloadDigest);
  }

  #holdBlock(facts: RecordFacts, place: Place): BlockKey {
    const digest = this.#digest(facts);
    const held = this.heldBlock(facts);
    if (held) {
      this.#declare(facts, held);
      return held;
    }
    const isFirst = this.#isOwn && !this.#draft.block({ digest, overflow: 0 });
    const overflow = facts.overflow > 0 ? facts.overflow : isFirst ? 0 : this.#draft.nextOverflow(digest);
    const key: BlockKey = { digest: Uint8Array.from(digest), overflow };
    this.#draft.addBlock(key, facts.payloadBytes, place);
    this.#fresh.set(blockId(key), facts);
    this.#declare(facts, key);
    return key;
  }

  /** Remembers what the record's writer called the content, for revisits that call it the same. */
  #declare(facts: RecordFacts, block: BlockKey): void {
    const declared = parseDigest(facts.declaredDigest);
    if (!declared || (declared.algorithm === 'sha256' && toHex(declared.bytes) === toHex(block.digest))) return;
    this.#putAlias(declared, block);
  }

  #putAlias(declared: Digest, block: BlockKey): void {
    this.#memory.addAlias(declared, block);
    this.#draft.putAlias({ declared: aliasBytes(declared), block });
  }
}

export function unresolvedNote(place: Place): string {
  return `${UNRESOLVED_NOTE}${place.segment}:${place.offset}`;
}

function isAt(place: Place, other: Place): boolean {
  return place.segment === other.segment && place.offset === other.offset;
}
