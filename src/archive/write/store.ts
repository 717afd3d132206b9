/**
 * Storing: many callers store contents at the same time. The contents are committed in groups, so that one sync serves
 * many stores (I2).
 *
 * Each content is spooled and identified first. Then one commit at a time decides, in order of arrival, whether the
 * archive has the content. A new content becomes a response or resource record. A content that the archive has becomes
 * a revisit that refers to its holder (I1, I7). The records are appended to their segments, the segments are synced,
 * the catalog writes the batch, and only then are the stores acknowledged.
 *
 * In a large group, another thread encodes all small contents that look new, while this thread continues. If an earlier
 * store of the group turns out to have the same content, the later one is encoded again as a revisit: decisions are
 * never made ahead.
 */
import { sep } from 'node:path';
import { formatW3cDate, PinakesError, toHex } from '../../base/index.ts';
import type { Block, BlockKey, Capture, Place } from '../../catalog/index.ts';
import {
  CONTENT_FIELD,
  type ContentFacts,
  commitUntilTaken,
  type Decision,
  decide,
  type OpenSegment,
  OutsideCapture,
  OVERFLOW_FIELD,
  type Refusal,
  recordHash,
  type SegmentKind,
  type WriteOutcome,
} from '../../ledger/index.ts';
import { urlKey } from '../../url/index.ts';
import {
  fieldsOf,
  headBytes,
  isWorthRevisit,
  MemberEncoder,
  MemberThreads,
  type NewRecord,
  openHead,
  RECORD_TRAILER,
  type RevisitProfile,
  recordParts,
  recordStream,
  type UnencodedRecord,
} from '../../warc/index.ts';
import { formatContentKey } from '../content-key.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { blockId, type CatalogDraft } from '../revisit/catalog-draft.ts';
import { type Referent, referentOf } from '../revisit/referent.ts';
import { appendStreamed } from '../segment/streamed-append.ts';
import { CommitWindow, DISK_PACE, OBJECT_PACE } from './commit-window.ts';
import { HolderHeads } from './holder-heads.ts';
import { revisitDigest } from './referents.ts';
import { Spool, sameBytes } from './spool.ts';
import {
  collectionOf,
  contentTypeOf,
  givenFields,
  levelOf,
  mimeOf,
  PACKED_LEVEL,
  recordIdOf,
  type Stored,
  type StoreInput,
  type StoreOptions,
  TEXT_LEVEL,
  targetUriOf,
} from './store-input.ts';
import { StoreTargets } from './store-targets.ts';
import { UncommittedBytes, type UncommittedStore } from './uncommitted-bytes.ts';

export type { Stored, StoreInput, StoreOptions };

/** The record that holds a content. */
type Holder = {
  readonly referent: Referent;
  /** The payload digest of that record, if it is not one of ours. */
  readonly ownDigest?: string | undefined;
};

type Waiting = {
  readonly input: StoreInput;
  readonly options: StoreOptions;
  readonly spool: Spool;
  /** Of the record, where a commit may be repeated: what the first try left is recognised by it (C5). */
  readonly recordId: string | undefined;
  readonly resolve: (stored: Stored) => void;
  readonly reject: (error: unknown) => void;
};

/** A store whose record is in the draft. */
type Written = { readonly waiting: Waiting; readonly stored: Stored };

/** What was decided about a content, and the revisit that was made for the decision. */
type Decided = { readonly decision: Decision; readonly revisit: NewRecord | undefined };

/** The members of a content that looked new, encoded before its turn. */
type Ahead = { readonly record: NewRecord; readonly member: Uint8Array; readonly request: Uint8Array | undefined };

const GROUP_MAX = 512;
/**
 * Limits for encoding ahead: the most bytes of one content, and the most and the fewest bytes of all contents together.
 * Fewer bytes are not worth the transfer to another thread.
 */
const AHEAD_BYTES_EACH_MAX = 256 * 1024;
const AHEAD_BYTES_MAX = 4 * 1024 * 1024;
const AHEAD_BYTES_MIN = 64 * 1024;

export class StoreQueue {
  readonly #archive: OpenedArchive;
  readonly #text = new MemberEncoder({ coding: 'gzip', level: TEXT_LEVEL });
  readonly #packed = new MemberEncoder({ coding: 'gzip', level: PACKED_LEVEL });
  readonly #threads = new MemberThreads();
  readonly #waiting = new CommitWindow<Waiting>({
    mayWait: ({ options }) => options.mayWait ?? false,
    bytesOf: ({ spool }) => spool.length,
    pace: () => (this.#archive.stores.writable().some(({ hasParts }) => hasParts) ? OBJECT_PACE : DISK_PACE),
  });
  readonly #uncommitted = new UncommittedBytes();
  readonly #targets: StoreTargets;
  readonly #holderHeads: HolderHeads;
  #running: Promise<void> | undefined;
  #spools = 0;
  /** The reason why stores are refused. Undefined until the queue is closed. */
  #closed: PinakesError | undefined;
  /** Stores of which a former try may have left a record that others find. */
  readonly #repeated = new WeakSet<Waiting>();
  /** Holders of blocks in the current commit, which cannot be read yet. */
  readonly #fresh = new Map<string, Holder>();

  constructor(archive: OpenedArchive) {
    this.#archive = archive;
    this.#targets = new StoreTargets(archive);
    this.#holderHeads = new HolderHeads(archive);
  }

  async store(input: StoreInput, options: StoreOptions): Promise<Stored> {
    const counted = await this.#uncommitted.enter();
    try {
      return await this.#store(input, options, counted);
    } finally {
      counted.leave();
    }
  }

  async #store(input: StoreInput, options: StoreOptions, counted: UncommittedStore): Promise<Stored> {
    if (this.#closed) throw this.#closed;
    const path = `${this.#archive.scratch}${sep}spool-${process.pid}-${this.#spools++}`;
    const start = input.kind === 'http' ? input.responseHead : new Uint8Array(0);
    const kind = {
      type: input.kind === 'http' ? 'response' : 'resource',
      url: input.kind === 'bytes' ? 'urn:bytes' : input.url,
      contentType: contentTypeOf(input),
      http: input.kind === 'http' ? input.http : undefined,
    };
    const spool = await Spool.take(kind, start, input.body, path);
    counted.holds(spool.heldBytes);
    try {
      // Reading the body may have taken long.
      if (this.#closed) throw this.#closed;
      const { promise, resolve, reject } = Promise.withResolvers<Stored>();
      const recordId = this.#archive.cluster && this.#archive.newId();
      this.#waiting.add({ input, options, spool, recordId, resolve, reject });
      this.#running ??= this.#run();
      return await promise;
    } finally {
      if (!spool.bytes) await spool.discard();
    }
  }

  /** Waits until no store is in progress. */
  async drain(): Promise<void> {
    while (this.#running) await this.#running.catch(() => {});
  }

  /** Refuses further stores with this reason, and completes the waiting ones. */
  async close(reason: PinakesError): Promise<void> {
    this.#closed = reason;
    this.#waiting.flush();
    await this.drain();
    await this.#threads.close();
  }

  async #run(): Promise<void> {
    // Lets stores that arrive in the same turn join the first group.
    await Promise.resolve();
    try {
      while (this.#waiting.size > 0) {
        await this.#waiting.gather();
        let group: Waiting[] = [];
        try {
          await this.#archive.growing(async () => {
            group = this.#waiting.take(GROUP_MAX);
            await this.#commitGroup(group);
          });
        } catch (error) {
          // An empty group means that the archive takes no stores: it is closing, its disk is full, or its catalog has
          // stopped.
          for (const waiting of group.length > 0 ? group : this.#waiting.take(this.#waiting.size))
            waiting.reject(error);
        }
      }
    } finally {
      // Cleared in the same turn as the last check for waiting stores. Otherwise a store in between would wait for a
      // run that has ended.
      this.#running = undefined;
    }
  }

  /** Commits a group of stores, and makes it again as long as others change the contents that it refers to. */
  async #commitGroup(group: readonly Waiting[]): Promise<void> {
    let left = group;
    let tried: readonly Written[] = [];
    let repeats = 0;
    try {
      await commitUntilTaken(async (refusal) => {
        if (refusal) left = leaveOut(left, tried, refusal);
        this.#fresh.clear();
        for (;;) {
          const fenced = (error: unknown) => ({ written: [], lacking: [], outcome: this.#archive.fencedBy(error) });
          const { written, lacking, outcome } = await this.#commitBeginning(left).catch(fenced);
          tried = written;
          if (await this.#archive.mayRepeat(outcome, repeats)) {
            repeats++;
            for (const waiting of left) this.#repeated.add(waiting);
            continue;
          }
          if (outcome.kind !== 'committed') return outcome;
          left = left.slice(written.length + lacking.length);
          for (const { waiting, stored } of written) waiting.resolve(stored);
          for (const waiting of lacking)
            waiting.reject(new PinakesError('CONTENT_MISSING', { where: targetUriOf(waiting) }));
          if (left.length === 0) return outcome;
        }
      });
    } catch (error) {
      this.#fresh.clear();
      await this.#archive.segmentWriter.rollBack();
      if (await this.#targets.haveChanged(error)) return this.#commitGroup(left);
      const isErrorOfOne = left.length > 1 && !(error instanceof PinakesError && error.retryable);
      // An error of one store must not cost the others in its group.
      if (isErrorOfOne) for (const waiting of left) await this.#commitGroup([waiting]);
      else for (const waiting of left) waiting.reject(error);
    }
  }

  /**
   * Writes the stores up to the first that has to be in a later commit, and commits them. `lacking`: stores that only
   * refer to a content, but whose record needs its bytes.
   */
  async #commitBeginning(
    group: readonly Waiting[],
  ): Promise<{ written: readonly Written[]; lacking: readonly Waiting[]; outcome: WriteOutcome }> {
    const { segmentWriter } = this.#archive;
    const draft = this.#archive.newDraft();
    const written: Written[] = [];
    const lacking: Waiting[] = [];
    const ids = new Set<string>();
    await draft.load(group.flatMap((waiting) => this.#digestsOf(waiting)));
    const kinds = await this.#kindsOf(group, draft);
    await this.#holderHeads.load(
      group.flatMap((waiting) => this.#heldBlocks(waiting, draft).map(({ holder }) => holder)),
    );
    const ahead = await this.#encodeAhead(group, draft);
    for (const [index, waiting] of group.entries()) {
      const { id } = waiting.options;
      // A commit does not compare its captures with one another (C5).
      if (id !== undefined && ids.has(id)) break;
      const kind = kinds[index]!;
      const open = segmentWriter.findOpen(kind) ?? (await segmentWriter.openFor(kind));
      if (this.#refersToUncommitted(waiting, draft, open)) break;
      const stored = await this.#write(waiting, draft, open, ahead.get(waiting));
      if (stored) written.push({ waiting, stored });
      else lacking.push(waiting);
      if (id !== undefined) ids.add(id);
      if (segmentWriter.isFull(open)) await segmentWriter.flush(open);
    }
    const outcome = await this.#archive.commit(draft);
    this.#fresh.clear();
    return { written, lacking, outcome };
  }

  #fingerprint({ spool }: Waiting): Uint8Array {
    return this.#archive.fingerprint(spool.facts.payloadDigests[0]!.bytes);
  }

  /** The digests of the contents that the record may refer to. */
  #digestsOf(waiting: Waiting): Uint8Array[] {
    const unmodified = unmodifiedOf(waiting);
    return unmodified ? [this.#fingerprint(waiting), unmodified.digest] : [this.#fingerprint(waiting)];
  }

  /** Encodes all contents that look new, or none when they have few bytes. */
  async #encodeAhead(group: readonly Waiting[], draft: CatalogDraft): Promise<Map<Waiting, Ahead>> {
    const fresh = this.#freshOf(group, draft);
    if (fresh.reduce((sum, { spool }) => sum + spool.length, 0) < AHEAD_BYTES_MIN) return new Map();
    const made: { waiting: Waiting; record: NewRecord; hasRequest: boolean }[] = [];
    const loose: UnencodedRecord[] = [];
    for (const waiting of fresh) {
      const { input } = waiting;
      const recordId = this.#recordIdOf(waiting);
      const block = waiting.spool.bytes!;
      const record = this.#newRecord(waiting, recordId, 0);
      loose.push({ head: openHead(record, block.length), block, level: levelOf(waiting) });
      const request = this.#requestOf(input, recordId);
      if (request) loose.push({ ...request, level: TEXT_LEVEL });
      made.push({ waiting, record, hasRequest: request !== undefined });
    }
    // If the thread fails, this thread encodes the contents, which only takes longer.
    const members = await this.#threads.encode(loose).catch(() => undefined);
    if (!members) return new Map();
    let at = 0;
    return new Map(
      made.map(({ waiting, record, hasRequest }) => {
        const member = members[at++]!;
        return [waiting, { record, member, request: hasRequest ? members[at++] : undefined }];
      }),
    );
  }

  /** Small contents that the catalog does not have, each once. */
  #freshOf(group: readonly Waiting[], draft: CatalogDraft): Waiting[] {
    const seen = new Set<string>();
    let bytes = 0;
    return group.filter((waiting) => {
      const { spool } = waiting;
      const digest = this.#fingerprint(waiting);
      if (!spool.bytes || spool.isHeld || spool.length > AHEAD_BYTES_EACH_MAX || draft.blocksOf(digest).length > 0)
        return false;
      const id = toHex(digest);
      if (seen.has(id) || bytes + spool.length > AHEAD_BYTES_MAX) return false;
      seen.add(id);
      bytes += spool.length;
      return true;
    });
  }

  #heldBlocks(waiting: Waiting, draft: CatalogDraft): Block[] {
    return this.#digestsOf(waiting).flatMap((digest) => draft.blocksOf(digest));
  }

  /** A revisit may refer to a record of the same commit only when that record precedes it in the same segment (I1). */
  #refersToUncommitted(waiting: Waiting, draft: CatalogDraft, { segment: target }: OpenSegment): boolean {
    const held = this.#heldBlocks(waiting, draft);
    if (held.length === 0) return false;
    const fresh = held.filter(({ holder }) => this.#archive.segmentWriter.isUncommitted(holder));
    if (fresh.length === 0) return false;
    return waiting.options.mode === 'compare' || fresh.some((block) => block.holder.segment !== target.number);
  }

  #kindsOf(group: readonly Waiting[], draft: CatalogDraft): Promise<SegmentKind[]> {
    const targets = group.map((waiting) => {
      const fingerprint = this.#fingerprint(waiting);
      return { options: waiting.options, fingerprint, isHeld: draft.blocksOf(fingerprint).length > 0 };
    });
    return this.#targets.kindsOf(targets);
  }

  /** Undefined when the record needs the bytes of a content that the store only refers to. */
  async #write(
    waiting: Waiting,
    draft: CatalogDraft,
    open: OpenSegment,
    ahead: Ahead | undefined,
  ): Promise<Stored | undefined> {
    const { spool, input, options } = waiting;
    const { decision, revisit } = await this.#decide(waiting, draft);
    const isRevisit = decision.kind === 'revisit';
    if (spool.isHeld && !isRevisit) return undefined;
    const key: BlockKey =
      'block' in decision ? decision.block.key : { digest: this.#fingerprint(waiting), overflow: decision.overflow };
    const made = isRevisit || key.overflow > 0 ? undefined : ahead;
    const record =
      made?.record ??
      (isRevisit ? revisit! : this.#newRecord(waiting, revisit?.recordId ?? this.#recordIdOf(waiting), key.overflow));
    const place = isRevisit
      ? this.#appendRevisit(open, waiting, record)
      : spool.bytes
        ? this.#archive.segmentWriter.append(
            open,
            made?.member ?? this.#encoderOf(waiting).encode(recordParts(withDigest(record, spool), spool.bytes)),
          )
        : await this.#appendLarge(open, spool, record, this.#encoderOf(waiting));
    const request = made?.request ?? this.#encodeRequest(input, record.recordId);
    if (request) this.#archive.segmentWriter.append(open, request);
    const isNew = !('block' in decision);
    const { mode = 'regular', id } = options;
    if (isNew) draft.addBlock(key, spool.facts.payloadBytes, place, mode !== 'regular');
    else if (decision.kind === 'lost') draft.moveHolder(key, place);
    else if (!isRevisit) draft.addSpare(key, spool.facts.payloadBytes, place, !isShareable(options));
    if (isNew || decision.kind === 'lost') this.#fresh.set(blockId(key), { referent: referentOf(record) });
    const capture: Capture = {
      urlKey: urlKey(record.targetUri!),
      time: input.time,
      place,
      url: record.targetUri!,
      kind: isRevisit ? 'revisit' : input.kind === 'http' ? 'response' : 'resource',
      collection: open.kind.collection,
      status: spool.facts.http?.status ?? 0,
      mime: mimeOf(waiting),
      block: key,
      hash: recordHash(record.recordId),
    };
    const collectionName = collectionOf(options);
    const isChecked = id !== undefined || this.#repeated.has(waiting);
    draft.putCapture(capture, isChecked ? new OutsideCapture(capture, { collectionName }) : undefined);
    // The volume where the content is: that of the record that holds it, also when this capture is elsewhere.
    const holder = decision.kind === 'lost' || isNew ? place : decision.block.holder;
    const volume = (await this.#archive.segmentRegistry.find(holder.segment))?.volume ?? open.kind.volume;
    return { key: formatContentKey(volume, key), capture, isNew };
  }

  /** The decision about a content, with its holder and its revisit if they were needed. */
  async #decide(waiting: Waiting, draft: CatalogDraft): Promise<Decided> {
    const { spool, input, options } = waiting;
    // The content that is unmodified according to the server, if the archive still has it.
    const unmodifiedKey = unmodifiedOf(waiting);
    const unmodified = unmodifiedKey && draft.block(unmodifiedKey);
    let facts: ContentFacts = {
      size: spool.facts.payloadBytes,
      blocks: draft.blocksOf(this.#fingerprint(waiting)),
      mode: options.mode ?? 'regular',
      isShareable: isShareable(options),
      sharedBytesMin: this.#archive.dedupBytesMin,
      unmodified,
    };
    // The holder of an unmodified content is always known, if only by its capture.
    let holder = unmodified && (await this.#holderOf(unmodified, input));
    let revisit = holder && this.#revisitOf(waiting, unmodified!.key, holder, 'server-not-modified');
    for (;;) {
      const decision = decide(facts);
      switch (decision.kind) {
        case 'same?':
          facts = { ...facts, same: await this.#findSame(decision.blocks, waiting) };
          break;
        case 'readable?':
          holder = await this.#holderOf(decision.block, input);
          facts = { ...facts, isReadable: holder !== undefined };
          break;
        case 'worth?':
          revisit = this.#revisitOf(waiting, decision.block.key, holder!, 'identical-payload-digest');
          facts = { ...facts, isWorth: this.#isWorth(waiting, revisit) };
          break;
        default:
          return { decision, revisit };
      }
    }
  }

  /** The first block with the same bytes. */
  async #findSame(blocks: readonly Block[], waiting: Waiting): Promise<Block | 'none'> {
    for (const block of blocks) if (await this.#isSame(block, waiting)) return block;
    return 'none';
  }

  /** Compares the contents. A stored content that cannot be read counts as different. */
  async #isSame({ holder }: Block, { spool }: Waiting): Promise<boolean> {
    try {
      return await sameBytes((await this.#archive.access.open(holder)).payload, spool.payload());
    } catch (error) {
      if (error instanceof PinakesError) return false;
      throw error;
    }
  }

  /** The record of a content that the archive does not have, without the digest of its block. */
  #newRecord(waiting: Waiting, recordId: string, overflow: number): NewRecord {
    const { input, spool } = waiting;
    const overflowField = { name: OVERFLOW_FIELD, value: String(overflow) };
    return {
      type: input.kind === 'http' ? 'response' : 'resource',
      recordId,
      date: formatW3cDate(input.time),
      targetUri: targetUriOf(waiting),
      payloadDigest: spool.facts.payloadDigests[0]!,
      contentType: contentTypeOf(input),
      fields: overflow > 0 ? [...givenFields(input), overflowField] : givenFields(input),
    };
  }

  /**
   * The record that holds a content. Undefined when it cannot be read, except for an unmodified content, whose capture
   * is known.
   */
  async #holderOf(held: Block, input: StoreInput): Promise<Holder | undefined> {
    const fresh = this.#fresh.get(blockId(held.key));
    if (fresh) return fresh;
    const head = await this.#holderHeads.get(held.holder);
    if (head) return { referent: referentOf(head), ownDigest: head.get('warc-payload-digest') };
    const unmodified = input.kind === 'http' ? input.notModified : undefined;
    if (!unmodified) return undefined;
    return { referent: referentOf({ targetUri: unmodified.url, date: formatW3cDate(unmodified.time) }) };
  }

  /** The record of a content that the archive has. */
  #revisitOf(
    waiting: Waiting,
    key: BlockKey,
    { referent, ownDigest = '' }: Holder,
    profile: RevisitProfile,
  ): NewRecord {
    const { input, spool } = waiting;
    const recordId = this.#recordIdOf(waiting);
    const contentType = contentTypeOf(input);
    // A revisit leaves out the body and says so itself.
    const fields = givenFields(input).filter(({ name }) => name !== 'WARC-Truncated');
    const isUnmodified = profile === 'server-not-modified';
    const own = isUnmodified ? { algorithm: 'sha256' as const, bytes: key.digest } : spool.facts.payloadDigests[0]!;
    const payloadDigest = revisitDigest(own, ownDigest);
    if (payloadDigest !== own) fields.push({ name: CONTENT_FIELD, value: blockId(key) });
    if (key.overflow > 0) fields.push({ name: OVERFLOW_FIELD, value: String(key.overflow) });
    if (input.kind !== 'http') fields.push({ name: 'WARC-Identified-Payload-Type', value: contentType });
    return {
      type: 'revisit',
      recordId,
      date: formatW3cDate(input.time),
      targetUri: targetUriOf(waiting),
      payloadDigest,
      contentType,
      fields,
      revisit: { profile, ...referent, truncated: !isUnmodified },
    };
  }

  #isWorth(waiting: Waiting, revisit: NewRecord): boolean {
    const full = this.#newRecord(waiting, revisit.recordId, 0);
    const heads = { own: fieldsOf(full, 0), revisit: fieldsOf(revisit, 0) };
    return isWorthRevisit(waiting.spool.facts.payloadBytes, heads, this.#archive.dedupBytesMin);
  }

  /** The id of the record of the capture. Asked again, it is the same if the caller named the capture. */
  #recordIdOf({ options: { id }, recordId }: Waiting): string {
    return id === undefined ? (recordId ?? this.#archive.newId()) : recordIdOf(id);
  }

  #encoderOf(waiting: Waiting): MemberEncoder {
    return levelOf(waiting) === PACKED_LEVEL ? this.#packed : this.#text;
  }

  #appendRevisit(open: OpenSegment, { input }: Waiting, record: NewRecord): Place {
    const block = input.kind === 'http' ? input.responseHead : new Uint8Array(0);
    return this.#archive.segmentWriter.append(open, this.#text.encode(recordParts(record, block)));
  }

  async #appendLarge(open: OpenSegment, spool: Spool, record: NewRecord, encoder: MemberEncoder): Promise<Place> {
    const head = headBytes(fieldsOf(withDigest(record, spool), spool.length));
    return appendStreamed(this.#archive.segmentWriter, open, encoder, recordStream(head, spool.block));
  }

  /** The record of the request for a content, if there is one. */
  #requestOf(input: StoreInput, responseId: string): { head: Uint8Array; block: Uint8Array } | undefined {
    if (input.kind !== 'http' || !input.request) return undefined;
    const record: NewRecord = {
      type: 'request',
      recordId: this.#archive.newId(),
      date: formatW3cDate(input.time),
      targetUri: input.url,
      contentType: 'application/http; msgtype=request',
      fields: [{ name: 'WARC-Concurrent-To', value: responseId }],
    };
    return { head: headBytes(fieldsOf(record, input.request.length)), block: input.request };
  }

  #encodeRequest(input: StoreInput, responseId: string): Uint8Array | undefined {
    const request = this.#requestOf(input, responseId);
    return request && this.#text.encode([request.head, request.block, RECORD_TRAILER]);
  }
}

/**
 * Ends the stores that the commit refused, and returns the others: their contents or URLs are barred, or the archive
 * has or had the captures (C5). `tried`: the stores of the refused commit, in the order of its captures.
 */
function leaveOut(left: readonly Waiting[], tried: readonly Written[], refusal: Refusal): readonly Waiting[] {
  if (refusal.kind === 'stale') return left;
  const deleted = refusal.kind === 'known' ? refusal.deleted : [];
  const ended = new Set<Waiting>();
  for (const index of [...deleted, ...refusal.captures]) {
    const { waiting, stored } = tried[index]!;
    ended.add(waiting);
    if (refusal.kind === 'barred') waiting.reject(new PinakesError('CONTENT_BARRED', { where: targetUriOf(waiting) }));
    else waiting.resolve({ ...stored, isNew: false, known: deleted.includes(index) ? 'deleted' : 'held' });
  }
  return left.filter((waiting) => !ended.has(waiting));
}

/** Whether the record may become a revisit, which names the record of another client. */
function isShareable({ isShareable: shares = true }: StoreOptions): boolean {
  return shares;
}

function withDigest(record: NewRecord, spool: Spool): NewRecord {
  return { ...record, blockDigest: spool.blockDigest };
}

/** The content that is unmodified according to the server. */
function unmodifiedOf({ input }: Waiting): BlockKey | undefined {
  return input.kind === 'http' ? input.notModified?.block : undefined;
}
