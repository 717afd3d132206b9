/**
 * Retrieval of captures and contents: the head is from the capture's own record, and the payload is from the record
 * that holds the block, decoded with the transfer coding of that record.
 *
 * Records are checked while they are read (see record-access.ts). A damaged record is returned as far as it can be
 * read, with its damage.
 */
import { type EpochMs, type Finding, PinakesError, RunningDigest, toHex } from '../../base/index.ts';
import {
  type Block,
  type BlockKey,
  type Capture,
  type CatalogView,
  type Place,
  rangeOfKey,
  type Segment,
} from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import type { HttpHead, RecordHead } from '../../warc/index.ts';
import { type Damage, damageError, damageOf } from '../damage.ts';
import { isStill } from '../revisit/catalog-draft.ts';
import { problemFinding } from '../verify-problem.ts';
import type { WholeRecord } from './content-copies.ts';
import { RecentRecords } from './recent-records.ts';
import { type OpenedRecord, openedOf, type RecordAccess, releasePayload, WHOLE_BYTES_MAX } from './record-access.ts';

/** How often a read is tried when compaction moves the record between the look-up and the read. */
const ATTEMPTS = 3;
/** Captures within this time of each other belong to one visit of the crawler. */
export const VISIT_MS = 12 * 60 * 60 * 1000;
/**
 * How many captures of one key, before a time and after it, are searched for one with exactly the requested URL. Some
 * URLs are requested thousands of times in a visit.
 */
const VISIT_CAPTURES_MAX = 1000;

export type Retrieved = {
  readonly capture: Capture;
  /** Head of the capture's own record. */
  readonly head: RecordHead;
  /** HTTP head of the capture's own record. */
  readonly http: HttpHead | undefined;
  /** HTTP head of the record that holds the payload. It declares the content codings of the payload. */
  readonly holderHttp: HttpHead | undefined;
  /** Body without transfer coding and with its content coding. */
  readonly payload: AsyncIterable<Uint8Array>;
  /** Whether the records are already known to be undamaged. */
  readonly isSound: boolean;
  /** The damage of the records of the capture. It is complete when the payload was read to its end. */
  damage(): readonly Damage[];
};

export type RetrievedContent = {
  readonly block: Block;
  readonly payload: AsyncIterable<Uint8Array>;
  /** The damage of the record that holds the content. It is complete when the payload was read to its end. */
  damage(): readonly Damage[];
};

export type RetrieveOptions = {
  /** Whether the digest of the payload is compared with the name of the content, also for members with a checksum. */
  readonly checksDigest?: boolean;
};

/** A span of time, both ends inclusive. With `reverse`, the latest captures come first. */
export type CaptureSpan = { readonly from?: EpochMs; readonly to?: EpochMs; readonly reverse?: boolean };

/** Where records are found that are damaged or not there. What it returns was checked (I15). */
export interface RecordFallback {
  readonly hasMirrors: boolean;
  /** `block`: the content that the record holds, if any. */
  find(segment: Pick<Segment, 'name'>, place: Place, block: Block | undefined): Promise<WholeRecord | undefined>;
}

/** The record at a place, as it was opened. */
type Found = OpenedRecord & { readonly place: Place; readonly segment: Pick<Segment, 'volume' | 'name'> };

export class Retrieval {
  readonly #catalog: CatalogView;
  readonly #access: RecordAccess;
  readonly #recent = new RecentRecords();
  readonly #fingerprint: (digest: Uint8Array) => Uint8Array;
  readonly #fallback: RecordFallback;

  constructor(
    catalog: CatalogView,
    access: RecordAccess,
    fingerprint: (digest: Uint8Array) => Uint8Array,
    fallback: RecordFallback,
  ) {
    this.#catalog = catalog;
    this.#access = access;
    this.#fingerprint = fingerprint;
    this.#fallback = fallback;
  }

  /** Captures of a URL in order of time, including those of other URLs with the same key. */
  async *captures(url: string, range: CaptureSpan = {}): AsyncGenerator<Capture> {
    const { from, to, reverse } = range;
    const pages = this.#catalog.captures({
      ...rangeOfKey(urlKey(url)),
      ...(from !== undefined && { timeFrom: from }),
      ...(to !== undefined && { timeTo: to }),
      ...(reverse !== undefined && { reverse }),
    });
    for await (const page of pages) yield* page;
  }

  /**
   * The capture of a URL that is nearest to a time. One key stands for several URLs (`http` and `https`, `/a` and
   * `/A`), and redirects between them are captured too. So among the captures of one visit, captures of exactly this
   * URL are preferred.
   */
  async nearest(url: string, time: EpochMs, side: 'either' | 'notAfter' = 'either'): Promise<Capture | undefined> {
    const nearest = await this.#catalog.nearest(urlKey(url), time, side);
    if (!nearest || nearest.url === url) return nearest;
    const [from, to] = [nearest.time - VISIT_MS, nearest.time + VISIT_MS];
    const before = await this.#firstOf(url, { from, to: Math.min(time, to), reverse: true });
    const after = side === 'either' ? await this.#firstOf(url, { from: Math.max(time, from), to }) : undefined;
    const isAfterNearer = after && (!before || after.time - time < time - before.time);
    return (isAfterNearer ? after : before) ?? nearest;
  }

  /** The first capture of exactly this URL in a range. */
  async #firstOf(url: string, range: CaptureSpan): Promise<Capture | undefined> {
    let looked = 0;
    for await (const capture of this.captures(url, range)) {
      if (capture.url === url) return capture;
      if (++looked === VISIT_CAPTURES_MAX) return undefined;
    }
    return undefined;
  }

  /** The latest capture of a URL. */
  latest(url: string): Promise<Capture | undefined> {
    return this.nearest(url, Number.MAX_SAFE_INTEGER, 'notAfter');
  }

  async open(capture: Capture, options: RetrieveOptions = {}): Promise<Retrieved> {
    return this.#withRetries(capture, async (current) => {
      const { block: key } = current;
      if (!key) return this.#openAlone(current, options);
      if (current.kind !== 'revisit') {
        const found = await this.#openOrCopy(current.place, key);
        return this.#assembled(current, found, this.#named(found, key, options));
      }
      const [block] = await this.#catalog.getBlocks([key]);
      if (!block || samePlace(block.holder, current.place)) return this.#openAlone(current, {});
      const own = await this.#openOrMirror(current.place).catch((error: unknown) =>
        this.#withoutOwn(error, current, key),
      );
      // A revisit that is not known to be sound shows its damage only at its end.
      if (own.isSound) await releasePayload(own.payload);
      else for await (const _ of own.payload);
      const holder = this.#named(await this.#openOrCopy(block.holder, key), key, options);
      return this.#assembled(current, own, holder);
    });
  }

  async #openAlone(current: Capture, options: RetrieveOptions): Promise<Retrieved> {
    const own = await this.#openOrMirror(current.place);
    return this.#assembled(current, own, this.#named(own, current.block, options));
  }

  /** The record at a place, or, if it is damaged or not there, the same record of a mirror. */
  async #openOrMirror(place: Place): Promise<Found> {
    if (!this.#fallback.hasMirrors) return this.#open(place);
    let found: Found | undefined;
    let failure: unknown;
    try {
      found = await this.#open(place);
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      failure = error;
    }
    if (found && (found.isSound || place.length > WHOLE_BYTES_MAX || (await this.#isSound(place)))) return found;
    const mirrored = await this.#mirrored(place, undefined);
    if (!mirrored && !found) throw failure;
    if (mirrored && found) await releasePayload(found.payload);
    return (mirrored ?? found)!;
  }

  async #isSound(place: Place): Promise<boolean> {
    const opened = await this.#access.openSound(place, undefined);
    if (!('payload' in opened)) return false;
    await releasePayload(opened.payload);
    return true;
  }

  /** The same record of a mirror. */
  async #mirrored(place: Place, block: Block | undefined): Promise<Found | undefined> {
    const segment = await this.#access.segmentOf(place).catch(() => undefined);
    const record = segment && (await this.#fallback.find(segment, place, block));
    return record && { place, segment, ...openedOf(record) };
  }

  /**
   * The record at a place, or, if it is damaged or not there, the copy of its content on another volume, or the record
   * of a mirror (I15). A copy is the member of the record that holds the content, so its head may be that of another
   * capture.
   */
  async #openOrCopy(place: Place, key: BlockKey): Promise<Found> {
    let found: Found | undefined;
    let failure: unknown;
    try {
      found = await this.#open(place);
      if (found.isSound) return found;
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      failure = error;
    }
    const copy = await this.#copyOf(key, place, found === undefined);
    if (!copy) {
      if (found) return found;
      throw failure;
    }
    if (found) await releasePayload(found.payload);
    return copy;
  }

  /** A copy of a content. `isLost`: the record cannot be opened. Otherwise it may still be sound, if it is large. */
  async #copyOf(key: BlockKey, place: Place, isLost: boolean): Promise<Found | undefined> {
    const [same = []] = await this.#catalog.findBlocks([key.digest]);
    const block = same.find((one) => one.key.overflow === key.overflow);
    if (!block) return undefined;
    const others = same.filter((one) => one !== block && one.size === block.size);
    // A large record is sent while it is checked, unless it has a copy: checking it first would read it twice.
    const hasMirror = this.#fallback.hasMirrors && (isLost || place.length <= WHOLE_BYTES_MAX);
    if (!hasMirror && others.length === 0 && (await this.#access.copies.placesOf(key)).length === 0) return undefined;
    if (!isLost && (await this.#isSound(place))) return undefined;
    const copy = await this.#access.copies.read(block);
    const segment = { volume: copy?.place.volume ?? '', name: copy?.place.pack ?? '' };
    if (copy) return { place, segment, ...openedOf(copy.record) };
    // What `force-new` stored again has the same bytes.
    for (const { holder } of others) {
      const whole = await this.#access.openWhole(holder).catch(() => undefined);
      if (whole) return { place, segment: await this.#access.segmentOf(holder), ...openedOf(whole) };
    }
    return hasMirror ? this.#mirrored(place, block) : undefined;
  }

  /** A revisit whose own record is not there: what holds its content stands in for it, if there is a copy of that. */
  async #withoutOwn(error: unknown, { place }: Capture, key: BlockKey): Promise<Found> {
    if (!(error instanceof PinakesError) || isMoved(error)) throw error;
    const copy = await this.#copyOf(key, place, true);
    if (!copy) throw error;
    return copy;
  }

  #assembled(capture: Capture, own: Found, holder: Found): Retrieved {
    const both = own.place === holder.place ? [holder] : [own, holder];
    return {
      capture,
      head: own.head,
      http: own.http,
      holderHttp: holder.http,
      payload: holder.payload,
      isSound: both.every(({ isSound }) => isSound),
      damage: () => both.flatMap((found) => this.#damageOf(found, capture.url)),
    };
  }

  #damageOf({ segment, damage }: Found, url: string | undefined): Damage[] {
    const damaged = damageOf(segment, damage(), url);
    return damaged ? [damaged] : [];
  }

  /** A record whose payload is compared with the name of its content, if the caller requested that. */
  #named(found: Found, key: BlockKey | undefined, { checksDigest = false }: RetrieveOptions = {}): Found {
    const { place, payload, damage } = found;
    if (!key || !checksDigest) return found;
    const changed: Finding[] = [];
    const name = toHex(key.digest);
    const fingerprint = this.#fingerprint;
    async function* hashed(): AsyncGenerator<Uint8Array> {
      const digest = new RunningDigest('sha256');
      for await (const piece of payload) {
        digest.update(piece);
        yield piece;
      }
      if (toHex(fingerprint(digest.finish().bytes)) === name) return;
      changed.push(problemFinding('content-changed', '', place.offset));
    }
    return { ...found, payload: hashed(), isSound: false, damage: () => [...damage(), ...changed] };
  }

  /** Empties the cache of recent records, so that the next reads come from the segments. */
  forget(): void {
    this.#recent.forget();
  }

  async #open(place: Place): Promise<Found> {
    const segment = await this.#access.segmentOf(place);
    const recent = this.#recent.get(segment.name, place.offset);
    if (recent) return { place, segment, ...openedOf(recent) };
    const whole = await this.#access.openWhole(place);
    if (!whole) return { place, segment, ...(await this.#access.openStreamed(place)) };
    this.#recent.keep(segment.name, place.offset, whole);
    return { place, segment, ...openedOf(whole) };
  }

  async content(key: BlockKey, options: RetrieveOptions = {}): Promise<RetrievedContent> {
    for (let attempt = 1; ; attempt++) {
      const [block] = await this.#catalog.getBlocks([key]);
      // A block without references was deleted. It is kept only for segments that could not be read.
      if (!block || block.references === 0)
        throw new PinakesError('CONTENT_MISSING', { where: `sha256:${Buffer.from(key.digest).toString('hex')}` });
      try {
        const holder = this.#named(await this.#openOrCopy(block.holder, block.key), block.key, options);
        return { block, payload: holder.payload, damage: () => this.#damageOf(holder, holder.head.targetUri) };
      } catch (error) {
        if (attempt >= ATTEMPTS || !isMoved(error)) throw error;
      }
    }
  }

  /** Does the work. If the record of the capture was moved meanwhile, does it again with its new place. */
  async #withRetries<T>(capture: Capture, work: (capture: Capture) => Promise<T>): Promise<T> {
    let current = capture;
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(current);
      } catch (error) {
        if (attempt >= ATTEMPTS || !isMoved(error)) throw error;
        const { urlKey, time, hash: ofHash } = current;
        const [found] = await this.#catalog.findCaptures([{ urlKey, time, ofHash }]);
        const same = found!.find((now) => isStill(capture, now));
        if (!same) throw error;
        current = same;
      }
    }
  }
}

/** Whether a capture is a redirect to another URL. "Not modified" is not a redirect. */
export function isRedirection({ status }: Pick<Capture, 'status'>): boolean {
  return status >= 300 && status <= 399 && status !== 304;
}

/**
 * Whether a capture is a revisit without an answer: its original is not in the archive, and it is not a redirect. The
 * head of a redirect is the whole answer (ISO 28500, 6.7.2). If `http` is not given, every redirect is assumed to have
 * a target.
 */
export function lacksAnswer(capture: Pick<Capture, 'kind' | 'block' | 'status'>, http?: HttpHead): boolean {
  if (capture.kind !== 'revisit' || capture.block) return false;
  return !isRedirection(capture) || (http !== undefined && !http.get('location')?.trim());
}

function samePlace(a: Place, b: Place): boolean {
  return a.segment === b.segment && a.offset === b.offset;
}

/**
 * The payload for callers that must not use damaged bytes: reading fails with RECORD_DAMAGED at damage. Some damage is
 * found only after the last byte, so the last piece is held back until the end.
 */
export function soundPayload(retrieved: Pick<Retrieved, 'payload' | 'isSound' | 'damage'>): AsyncIterable<Uint8Array> {
  return retrieved.isSound ? retrieved.payload : heldBack(retrieved);
}

async function* heldBack({ payload, damage }: Pick<Retrieved, 'payload' | 'damage'>): AsyncGenerator<Uint8Array> {
  let last: Uint8Array | undefined;
  for await (const piece of payload) {
    if (last) yield last;
    last = piece;
  }
  const [damaged] = damage();
  if (damaged) throw damageError(damaged);
  if (last) yield last;
}

function isMoved(error: unknown): boolean {
  return error instanceof PinakesError && (error.code === 'OBJECT_MISSING' || error.code === 'CONTENT_MISSING');
}
