/**
 * Chooses the capture that answers a request.
 *
 * It is the capture of the requested second, if there is one; else the nearest. For a link in a page it is the newest
 * capture that is not newer than the page, so that a reader sees a site as it was. But a crawl fetches linked pages
 * after the page itself. So a capture within VISIT_MS after the page does not count as newer.
 *
 * These captures are passed over for the next best:
 *
 * - revisits whose content is not in the archive; redirections are shown, because their own head is all there is
 * - records that are not an answer of a server
 * - answers without content (304), and parts of a content (a 206 that lacks bytes of it)
 * - preflights
 * - endless redirections: from a URL to another with the same key, and loops over other URLs. On the web a cookie that
 *   was set on the way ended the loop.
 *
 * A redirection of the requested URL to itself in the requested second is returned beside the next best capture. A
 * client that requests this very memento gets the redirection, which leads to the next best capture.
 */
import { isRedirection, lacksAnswer, type Retrieved } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import { urlKey } from '../../url/index.ts';
import { byteRange } from '../../warc/index.ts';
import { linkTarget } from '../memento.ts';
import { releaseBody } from '../payload-body.ts';
import { candidatesFor, isOfSecond, isSame, nearestFirst, type Wanted } from './candidates.ts';
import type { Capture, CaptureSource } from './capture.ts';
import { type Exchange, relationTo } from './exchange-key.ts';

/** How many captures are examined before the best of them is taken. */
const CANDIDATES_MAX = 64;
/**
 * How many requests are read to find an equal one. Pages send many different requests to one URL, such as `/graphql`.
 */
const REQUESTS_MAX = 256;
/**
 * How many captures are examined for the part with the requested bytes. A crawler may fetch a film in this many parts.
 */
const PARTS_MAX = 256;
/** How far redirections are followed, and from how many captures. */
const HOPS_MAX = 10;
const FOLLOWED_MAX = 8;

export type Chosen = {
  readonly capture: Capture;
  readonly retrieved: Retrieved;
  /** All captures of the key in order of time, if they are few. */
  readonly siblings: readonly Capture[] | undefined;
  /** The redirection of the requested URL to itself in the requested second, in whose place `capture` was chosen. */
  readonly selfRedirect?: Capture;
  /**
   * The URLs of a redirect loop. It is set when the capture leads back to itself, and so does every other capture that
   * could be shown.
   */
  readonly redirectLoop?: readonly string[];
};

/**
 * How suitable a capture is for its own time. A fallback is shown if nothing better is found. A capture that begins a
 * redirect loop is shown if there is no fallback either.
 */
type Suitability = 'shown' | 'fallback' | 'loop' | 'never';

/** The capture that answers, opened; undefined if there is none. */
export async function chooseCapture(archive: CaptureSource, wanted: Wanted): Promise<Chosen | undefined> {
  const picked = await pick(archive, wanted);
  if (!picked) return undefined;
  const { loop, ...chosen } = picked;
  if (!loop || (await leadsOut(archive, loop, wanted.side))) return chosen;
  return { ...chosen, redirectLoop: loop.map(({ url }) => url) };
}

type Picked = Omit<Chosen, 'redirectLoop'> & { readonly loop?: readonly Capture[] };

async function pick(archive: CaptureSource, wanted: Wanted): Promise<Picked | undefined> {
  const siblings = await archive.capturesOf(wanted.key);
  let fallback: Capture | undefined;
  let part: Capture | undefined;
  let size: number | undefined;
  let loop: readonly Capture[] | undefined;
  let selfRedirect: Capture | undefined;
  let requestedSelfRedirect: Capture | undefined;
  let count = 0;
  let followed = 0;
  for await (const capture of answersTo(archive, wanted, siblings)) {
    if (++count > (wanted.range === undefined || part ? CANDIDATES_MAX : PARTS_MAX)) break;
    const suitability = suitabilityByEntry(capture);
    if (suitability === 'never') continue;
    if (suitability === 'fallback') {
      fallback ??= capture;
      continue;
    }
    const retrieved = await archive.open(capture);
    const held = await partialBytesOf(archive, capture, retrieved);
    if (held) {
      fallback ??= capture;
      // A part that names another size of the whole belongs to another content.
      size ??= held.size;
      if (held.size === size && requestedBytes(held, wanted.range)) part ??= capture;
    }
    const isRequested = isOfSecond(capture, wanted) && isOfUrl(capture, wanted.url);
    const isToItself = isSelfRedirect(capture, retrieved);
    if (isToItself) selfRedirect ??= capture;
    if (isToItself && isRequested) requestedSelfRedirect ??= capture;
    const isPassedOver = held || lacksAnswer(capture, retrieved.http) || isToItself || isPreflight(retrieved);
    const isFollowed = !isPassedOver && isRedirection(capture) && followed++ < FOLLOWED_MAX;
    const found = isFollowed ? await loopFrom(archive, capture, retrieved, wanted.side) : undefined;
    if (!isPassedOver && !found) {
      const chosen = { capture, retrieved, siblings };
      return requestedSelfRedirect && !isRequested ? { ...chosen, selfRedirect: requestedSelfRedirect } : chosen;
    }
    loop ??= found;
    await releaseBody(retrieved.payload);
  }
  const last = part ?? fallback;
  if (last) return { capture: last, retrieved: await archive.open(last), siblings };
  loop ??= selfRedirect && [selfRedirect];
  return loop && { capture: loop[0]!, retrieved: await archive.open(loop[0]!), siblings, loop };
}

/** Whether a capture is of the very URL, as links and TimeMaps write it (`linkTarget`). */
function isOfUrl(capture: Capture, url: string): boolean {
  return capture.url === url || linkTarget(capture.url) === linkTarget(url);
}

function answersTo(
  archive: CaptureSource,
  wanted: Wanted,
  siblings: readonly Capture[] | undefined,
): AsyncIterable<Capture> | Iterable<Capture> {
  const { exchange, key } = wanted;
  if (!exchange || key === exchange.key) return candidatesFor(archive, wanted, siblings);
  return answersToExchange(archive, wanted, exchange, siblings);
}

/**
 * The answers to an equal request. If there are none: all captures of the URL, except those that are known to answer
 * another method.
 */
async function* answersToExchange(
  archive: CaptureSource,
  wanted: Wanted,
  exchange: Exchange,
  siblings: readonly Capture[] | undefined,
): AsyncGenerator<Capture> {
  const others: Capture[] = [];
  let isAnswered = false;
  let count = 0;
  for await (const capture of nearestFirst(archive, wanted, siblings)) {
    if (++count > REQUESTS_MAX) break;
    const relation = await relationTo(exchange, archive, capture);
    if (relation === 'other') others.push(capture);
    if (relation !== 'answer') continue;
    isAnswered = true;
    yield capture;
  }
  if (isAnswered) return;
  for await (const capture of candidatesFor(archive, wanted, siblings))
    if (!others.some((other) => isSame(other, capture))) yield capture;
}

/** The captures of a redirect loop that begins with this one; undefined if following it leads elsewhere. */
async function loopFrom(
  archive: CaptureSource,
  capture: Capture,
  retrieved: Retrieved,
  side: Wanted['side'],
): Promise<readonly Capture[] | undefined> {
  const loop = [capture];
  let target = targetOf(capture, retrieved);
  while (target !== undefined && loop.length <= HOPS_MAX) {
    const next = await firstAnswer(archive, { key: urlKey(target), url: target, at: loop.at(-1)!.time, side });
    if (!next || !isRedirection(next.capture)) return undefined;
    if (isSame(next.capture, capture)) return loop;
    // The capture leads to a loop that it is not part of.
    if (loop.some((member) => isSame(member, next.capture))) return undefined;
    loop.push(next.capture);
    target = next.target;
  }
  return undefined;
}

/** The capture that answers when loops are not searched, and the target of its redirection. */
async function firstAnswer(
  archive: CaptureSource,
  wanted: Wanted,
): Promise<{ capture: Capture; target: string | undefined } | undefined> {
  let count = 0;
  for await (const capture of candidatesFor(archive, wanted, await archive.capturesOf(wanted.key))) {
    if (++count > CANDIDATES_MAX) return undefined;
    if (suitabilityByEntry(capture) !== 'shown') continue;
    if (!dependsOnRecord(capture)) return { capture, target: undefined };
    const retrieved = await archive.open(capture);
    await releaseBody(retrieved.payload);
    const isPassedOver = lacksAnswer(capture, retrieved.http) || isSelfRedirect(capture, retrieved);
    if (!(await partialBytesOf(archive, capture, retrieved)) && !isPassedOver)
      return { capture, target: isRedirection(capture) ? targetOf(capture, retrieved) : undefined };
  }
  return undefined;
}

/** Whether some redirection of the loop is replaced by a capture outside of a loop. */
async function leadsOut(archive: CaptureSource, loop: readonly Capture[], side: Wanted['side']): Promise<boolean> {
  let { time } = loop[0]!;
  for (const { url, urlKey: key, time: own } of loop.slice(1)) {
    const picked = await pick(archive, { key, url, at: time, side });
    if (picked) await releaseBody(picked.retrieved.payload);
    if (picked && !picked.loop) return true;
    time = own;
  }
  return false;
}

/**
 * The capture shown at a time. Reads as few records as possible, and leaves damage to the caller that opens the
 * capture.
 */
export async function captureAt(
  archive: CaptureSource,
  wanted: Wanted,
): Promise<Pick<Chosen, 'capture' | 'siblings'> | undefined> {
  const siblings = await archive.capturesOf(wanted.key);
  let fallback: Capture | undefined;
  let loop: Capture | undefined;
  let count = 0;
  for await (const capture of candidatesFor(archive, wanted, siblings)) {
    if (++count > CANDIDATES_MAX) break;
    const suitability = await suitabilityOf(archive, capture);
    if (suitability === 'shown') return { capture, siblings };
    if (suitability === 'fallback') fallback ??= capture;
    if (suitability === 'loop') loop ??= capture;
  }
  const last = fallback ?? loop;
  return last && { capture: last, siblings };
}

/** Whether replay shows this capture itself at its own time. */
export async function isShown(archive: CaptureSource, capture: Capture): Promise<boolean> {
  return (await suitabilityOf(archive, capture)) === 'shown';
}

async function suitabilityOf(archive: CaptureSource, capture: Capture): Promise<Suitability> {
  const suitability = suitabilityByEntry(capture);
  if (suitability !== 'shown' || !dependsOnRecord(capture)) return suitability;
  try {
    const retrieved = await archive.open(capture);
    await releaseBody(retrieved.payload);
    if (await partialBytesOf(archive, capture, retrieved)) return 'fallback';
    if (lacksAnswer(capture, retrieved.http) || isSelfRedirect(capture, retrieved)) return 'never';
    return (await loopFrom(archive, capture, retrieved, 'either')) ? 'loop' : 'shown';
  } catch (error) {
    // Replay of the capture reports the damage.
    if (error instanceof PinakesError) return 'shown';
    throw error;
  }
}

/**
 * Whether a capture is a state of its page. Metadata records are not, nor are revisits whose content is not in the
 * archive, unless they are redirections.
 */
export function isMemento(capture: Capture): boolean {
  return capture.kind !== 'metadata' && !lacksAnswer(capture);
}

/** The suitability, as far as the entry of the catalog shows it. */
function suitabilityByEntry(capture: Capture): Exclude<Suitability, 'loop'> {
  if (!isMemento(capture)) return 'never';
  if (capture.kind === 'revisit') return 'shown';
  if (capture.kind === 'conversion') return 'fallback';
  return capture.status === 304 || (capture.status >= 100 && capture.status < 200) ? 'fallback' : 'shown';
}

/** Only the record of a redirection or a part says whether it is shown. */
export function dependsOnRecord(capture: Capture): boolean {
  return isRedirection(capture) || capture.status === 206;
}

/**
 * The bytes of an answer that has less than the whole content; undefined for other answers. A 206 may have the whole
 * content, because players request `bytes=0-`.
 */
async function partialBytesOf(
  archive: CaptureSource,
  capture: Capture,
  retrieved: Retrieved,
): Promise<HeldBytes | undefined> {
  if (capture.status !== 206) return undefined;
  const held = await heldBytesOf(archive, capture, retrieved);
  return isWhole(held) ? undefined : held;
}

/**
 * The bytes of a content that an answer has. `to` is exclusive. `size` is the size of the whole content, undefined if
 * the answer does not declare it.
 */
export type HeldBytes = { readonly from: number; readonly to: number; readonly size: number | undefined };

/** The bytes that the head names, as far as they are in the archive: crawlers cut off long answers. */
export async function heldBytesOf(
  archive: Pick<CaptureSource, 'getBlocks'>,
  { block }: Capture,
  { http, holderHttp }: Retrieved,
): Promise<HeldBytes> {
  const field = http?.get('content-range') ?? holderHttp?.get('content-range') ?? '';
  const [, first, last, size] = /^\s*bytes\s+(\d+)-(\d+)\/(\d+)\s*$/i.exec(field) ?? [];
  if (size === undefined) return { from: 0, to: 0, size: undefined };
  const from = Number(first);
  const [held] = block ? await archive.getBlocks([block]) : [];
  return { from, to: Math.min(Number(last) + 1, from + (held?.size ?? 0)), size: Number(size) };
}

export function isWhole({ from, to, size }: HeldBytes): boolean {
  return from === 0 && to === size;
}

/**
 * The bytes of a part that answer a request; undefined if the part lacks the first requested byte. Players request the
 * rest next.
 */
export function requestedBytes(
  { from, to, size }: HeldBytes,
  range: string | undefined,
): { from: number; to: number } | undefined {
  const requested = byteRange(range, size ?? 0);
  const isHeld = requested.kind === 'part' && from <= requested.from && requested.from < to;
  return isHeld ? { from: requested.from, to: Math.min(requested.to, to) } : undefined;
}

function isSelfRedirect(capture: Capture, retrieved: Retrieved): boolean {
  if (!isRedirection(capture)) return false;
  const target = targetOf(capture, retrieved);
  return target !== undefined && urlKey(target) === capture.urlKey;
}

/** The target of a redirection; undefined without a Location. The body of such a redirection can be shown. */
function targetOf(capture: Capture, { http }: Retrieved): string | undefined {
  const location = http?.get('location')?.trim() || undefined;
  return location === undefined ? undefined : URL.parse(location, capture.url)?.href;
}

/** The answer to a preflight (CORS) has the same key as the answer to the request after it. */
function isPreflight({ head }: Retrieved): boolean {
  return head.get('warc-resource-type') === 'preflight';
}
