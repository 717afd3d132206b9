/**
 * Giving captures and contents back: the head comes from the capture's own record, the payload from the record that
 * holds the block, decoded by that record's transfer coding.
 *
 * What is read is checked on the way (see record-access.ts). Damaged records are given as far as they can be read, and
 * say so.
 */
import { type EpochMs, type Finding, PinakesError, RunningDigest, toHex } from '../../base/index.ts';
import {
  type Block,
  type BlockKey,
  type Capture,
  type CatalogView,
  type Place,
  rangeOfKey,
} from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import type { HttpHead, RecordHead } from '../../warc/index.ts';
import { type Damage, damageError } from '../damage.ts';
import { isStill } from '../revisit/catalog-draft.ts';
import { PROBLEM_CATALOGUE } from '../verify-problem.ts';
import { RecentRecords } from './recent-records.ts';
import { type OpenedRecord, openedOf, type RecordAccess, releasePayload } from './record-access.ts';

/** How often a read is tried again when compaction moved the record between the look-up and the read. */
const ATTEMPTS = 3;
/** Captures within so long of one another are of one visit of the crawler. */
export const VISIT_MS = 12 * 60 * 60 * 1000;
/**
 * Among so many captures of one key, before a time and after it, those of the very URL are looked for: some addresses
 * are called thousands of times a visit.
 */
const VISIT_CAPTURES_MAX = 1000;

export type Retrieved = {
  readonly capture: Capture;
  /** Head of the capture's own record. */
  readonly head: RecordHead;
  /** HTTP head of the capture's own record. */
  readonly http: HttpHead | undefined;
  /** HTTP head of the record that holds the payload: its content codings are the payload's. */
  readonly holderHttp: HttpHead | undefined;
  /** Body without transfer coding, content coding kept. */
  readonly payload: AsyncIterable<Uint8Array>;
  /** Whether it is known already that nothing of it is damaged. */
  readonly isSound: boolean;
  /** What is damaged of the records it comes from; all of that is known once the payload was read to its end. */
  damage(): readonly Damage[];
};

export type RetrievedContent = {
  readonly block: Block;
  readonly payload: AsyncIterable<Uint8Array>;
  /** What is damaged of the record that holds it; all of that is known once the payload was read to its end. */
  damage(): readonly Damage[];
};

export type RetrieveOptions = {
  /** Whether the digest of the payload is held against the content's name, for members that have a checksum too. */
  readonly checksDigest?: boolean;
};

/** Times, both inclusive; the latest come first with `reverse`. */
export type CaptureSpan = { readonly from?: EpochMs; readonly to?: EpochMs; readonly reverse?: boolean };

/** The record at a place, as it was opened. */
type Found = OpenedRecord & { readonly place: Place };

export class Retrieval {
  readonly #catalog: CatalogView;
  readonly #access: RecordAccess;
  readonly #recent = new RecentRecords();
  readonly #fingerprint: (digest: Uint8Array) => Uint8Array;

  constructor(catalog: CatalogView, access: RecordAccess, fingerprint: (digest: Uint8Array) => Uint8Array) {
    this.#catalog = catalog;
    this.#access = access;
    this.#fingerprint = fingerprint;
  }

  /**
   * Captures of a URL in order of time; those whose URL differs from the one asked for, though their key is the same,
   * included.
   */
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
   * The capture of a URL nearest to a time. One key stands for several URLs (`http` and `https`, `/a` and `/A`), and
   * what leads from one of them to another is captured with it; so of the captures of one visit those of the very URL
   * go first.
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

  /** The first capture of the very URL in a range. */
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
    return this.#patiently(capture, async (current) => {
      const own = await this.#open(current.place);
      const { block: key } = current;
      if (!key || current.kind !== 'revisit') return this.#assembled(current, own, this.#named(own, key, options));
      const [block] = await this.#catalog.getBlocks([key]);
      if (!block || samePlace(block.holder, current.place)) return this.#assembled(current, own, own);
      // Whether a revisit that is no sound whole is damaged shows at its end.
      if (own.isSound) await releasePayload(own.payload);
      else for await (const _ of own.payload);
      const holder = this.#named(await this.#open(block.holder), key, options);
      return this.#assembled(current, own, holder);
    });
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

  #damageOf({ place, damage }: Found, url: string | undefined): Damage[] {
    const damaged = this.#access.damageAt(place, damage(), url);
    return damaged ? [damaged] : [];
  }

  /** A record whose payload is compared with the name of its content, when the caller asks for it. */
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
      const { level, says } = PROBLEM_CATALOGUE['content-changed'];
      changed.push({ code: 'content-changed', level, file: '', offset: place.offset, message: says });
    }
    return { ...found, payload: hashed(), isSound: false, damage: () => [...damage(), ...changed] };
  }

  /** Forgets what it knows of segments by their numbers, for a rebuild. */
  forget(): void {
    this.#recent.forget();
  }

  async #open(place: Place): Promise<Found> {
    const recent = this.#recent.get(place);
    if (recent) return { place, ...openedOf(recent) };
    const whole = await this.#access.openWhole(place);
    if (!whole) return { place, ...(await this.#access.openStreamed(place)) };
    this.#recent.keep(place, whole);
    return { place, ...openedOf(whole) };
  }

  async content(key: BlockKey, options: RetrieveOptions = {}): Promise<RetrievedContent> {
    for (let attempt = 1; ; attempt++) {
      const [block] = await this.#catalog.getBlocks([key]);
      // One that nothing refers to was deleted, and is only kept for what could not be read.
      if (!block || block.references === 0)
        throw new PinakesError('CONTENT_MISSING', { where: `sha256:${Buffer.from(key.digest).toString('hex')}` });
      try {
        const opened = { place: block.holder, ...(await this.#access.open(block.holder)) };
        const holder = this.#named(opened, block.key, options);
        return { block, payload: holder.payload, damage: () => this.#damageOf(holder, holder.head.targetUri) };
      } catch (error) {
        if (attempt >= ATTEMPTS || !isMoved(error)) throw error;
      }
    }
  }

  /** Tries again with the capture as the catalog knows it now, when its record was moved. */
  async #patiently<T>(capture: Capture, work: (capture: Capture) => Promise<T>): Promise<T> {
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

/** Whether a capture is a redirection to another URL. "Not modified" is none. */
export function isRedirection({ status }: Pick<Capture, 'status'>): boolean {
  return status >= 300 && status <= 399 && status !== 304;
}

/**
 * Whether a capture is a revisit without an answer: its original is not in the archive, and it is not a redirection,
 * whose own head is the whole answer (ISO 28500, 6.7.2). Without its HTTP head, every redirection counts as one that
 * says where it leads.
 */
export function lacksAnswer(capture: Pick<Capture, 'kind' | 'block' | 'status'>, http?: HttpHead): boolean {
  if (capture.kind !== 'revisit' || capture.block) return false;
  return !isRedirection(capture) || (http !== undefined && !http.get('location')?.trim());
}

function samePlace(a: Place, b: Place): boolean {
  return a.segment === b.segment && a.offset === b.offset;
}

/**
 * The payload for those who must not take it for sound when it is not: what is damaged fails with RECORD_DAMAGED. That
 * can show behind the last byte, so the last piece waits until it is known.
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
