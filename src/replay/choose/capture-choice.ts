/**
 * Which capture answers a request.
 *
 * The one of the asked second when there is one; else the nearest. For a link in a page it is the newest that is not
 * newer, so that a reader goes through a site as it was; but a crawl fetches what a page links to after the page, so a
 * capture of the hours that follow is not newer, only nearer or farther. Passed over for the next best: revisits whose
 * content is not held (but for redirections, which their own head tells whole), records that are no answer of a server,
 * answers without content (304), parts of a content (206 that is not all of it), preflights, and redirections that lead
 * back to themselves and would do so for ever: those of a URL to itself, which share a key with what they lead to, and
 * circles over other URLs, which on the web ended because a cookie was set on the way. A redirection of the asked URL
 * to itself in the asked second is named beside the next best: a client that asks for this very memento gets it, and is
 * led on from there.
 */
import { type Archive, isRedirection, lacksAnswer, type Retrieved } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import { urlKey } from '../../url/index.ts';
import { byteRange } from '../../warc/index.ts';
import { linkTarget } from '../memento.ts';
import { releaseBody } from '../payload-body.ts';
import { candidatesFor, isOfSecond, isSame, nearestFirst, type Wanted } from './candidates.ts';
import type { Capture } from './capture.ts';
import { type Exchange, relationTo } from './exchange-key.ts';

/** How many captures are looked at before the best of those seen is taken. */
const CANDIDATES_MAX = 64;
/**
 * The requests of how many captures are read for one that was the same. Pages ask the same address for many things,
 * `/graphql`.
 */
const REQUESTS_MAX = 256;
/** How many captures are looked at for the part that has the asked bytes: a film was fetched in as many. */
const PARTS_MAX = 256;
/** How far redirections are followed, and those of how many captures. */
const HOPS_MAX = 10;
const FOLLOWED_MAX = 8;

export type Chosen = {
  readonly capture: Capture;
  readonly retrieved: Retrieved;
  /** All captures of the key in order of time, when they are few. */
  readonly siblings: readonly Capture[] | undefined;
  /** The redirection of the asked URL to itself in the asked second, in whose place `capture` was chosen. */
  readonly selfRedirect?: Capture;
  /**
   * Set when the capture is a redirection that leads back to itself, and so does every other that could be shown: the
   * URLs on the way.
   */
  readonly circle?: readonly string[];
};

/** The capture that answers, opened; undefined when there is none. */
export async function chooseCapture(archive: Archive, wanted: Wanted): Promise<Chosen | undefined> {
  const picked = await pick(archive, wanted);
  if (!picked) return undefined;
  const { circle, ...chosen } = picked;
  if (!circle || (await leadsOut(archive, circle, wanted.side))) return chosen;
  return { ...chosen, circle: circle.map(({ url }) => url) };
}

type Picked = Omit<Chosen, 'circle'> & { readonly circle?: readonly Capture[] };

async function pick(archive: Archive, wanted: Wanted): Promise<Picked | undefined> {
  const siblings = await archive.capturesOf(wanted.key);
  let spare: Capture | undefined;
  let part: Capture | undefined;
  let size: number | undefined;
  let circle: readonly Capture[] | undefined;
  let selfRedirect: Capture | undefined;
  let asked: Capture | undefined;
  let count = 0;
  let followed = 0;
  for await (const capture of answersTo(archive, wanted, siblings)) {
    if (++count > (wanted.range === undefined || part ? CANDIDATES_MAX : PARTS_MAX)) break;
    const rank = rankOf(capture);
    if (rank === 'unusable') continue;
    if (rank === 'spare') {
      spare ??= capture;
      continue;
    }
    const retrieved = await archive.open(capture);
    const held = await partOf(archive, capture, retrieved);
    if (held) {
      spare ??= capture;
      // Of another size it is a part of another content.
      size ??= held.size;
      if (held.size === size && askedOf(held, wanted.range)) part ??= capture;
    }
    const isToItself = isSelfRedirect(capture, retrieved);
    if (isToItself) selfRedirect ??= capture;
    if (isToItself && isOfSecond(capture, wanted) && isOfUrl(capture, wanted.url)) asked ??= capture;
    const isPassedOver = held || lacksAnswer(capture, retrieved.http) || isToItself || isPreflight(retrieved);
    const isFollowed = !isPassedOver && isRedirection(capture) && followed++ < FOLLOWED_MAX;
    const members = isFollowed ? await circleFrom(archive, capture, retrieved, wanted.side) : undefined;
    if (!isPassedOver && !members) {
      const isAsked = isOfSecond(capture, wanted) && isOfUrl(capture, wanted.url);
      return { capture, retrieved, siblings, ...(asked && !isAsked && { selfRedirect: asked }) };
    }
    circle ??= members;
    await releaseBody(retrieved.payload);
  }
  const last = part ?? spare;
  if (last) return { capture: last, retrieved: await archive.open(last), siblings };
  circle ??= selfRedirect && [selfRedirect];
  return circle && { capture: circle[0]!, retrieved: await archive.open(circle[0]!), siblings, circle };
}

/** Whether a capture is of the very URL. Links and TimeMaps write it as `linkTarget` does. */
function isOfUrl(capture: Capture, url: string): boolean {
  return capture.url === url || linkTarget(capture.url) === linkTarget(url);
}

function answersTo(
  archive: Archive,
  wanted: Wanted,
  siblings: readonly Capture[] | undefined,
): AsyncIterable<Capture> | Iterable<Capture> {
  const { exchange, key } = wanted;
  if (!exchange || key === exchange.key) return candidatesFor(archive, wanted, siblings);
  return answersToSent(archive, wanted, exchange, siblings);
}

/**
 * To what was sent, the answers to the very same; where there is none, whatever the URL has that is not known to answer
 * another method.
 */
async function* answersToSent(
  archive: Archive,
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

/** The captures on the way when following a redirection leads back to it; undefined when it leads elsewhere. */
async function circleFrom(
  archive: Archive,
  capture: Capture,
  retrieved: Retrieved,
  side: Wanted['side'],
): Promise<readonly Capture[] | undefined> {
  const members = [capture];
  let target = targetOf(capture, retrieved);
  while (target !== undefined && members.length <= HOPS_MAX) {
    const next = await firstAnswer(archive, { key: urlKey(target), url: target, at: members.at(-1)!.time, side });
    if (!next || !isRedirection(next.capture)) return undefined;
    if (isSame(next.capture, capture)) return members;
    // Another circle, which this one only leads to.
    if (members.some((member) => isSame(member, next.capture))) return undefined;
    members.push(next.capture);
    target = next.target;
  }
  return undefined;
}

/** What answers when circles do not count, and where it leads. */
async function firstAnswer(
  archive: Archive,
  wanted: Wanted,
): Promise<{ capture: Capture; target: string | undefined } | undefined> {
  let count = 0;
  for await (const capture of candidatesFor(archive, wanted, await archive.capturesOf(wanted.key))) {
    if (++count > CANDIDATES_MAX) return undefined;
    if (rankOf(capture) !== 'good') continue;
    if (!isKnownByRecord(capture)) return { capture, target: undefined };
    const retrieved = await archive.open(capture);
    await releaseBody(retrieved.payload);
    const isPassedOver = lacksAnswer(capture, retrieved.http) || isSelfRedirect(capture, retrieved);
    if (!(await partOf(archive, capture, retrieved)) && !isPassedOver)
      return { capture, target: isRedirection(capture) ? targetOf(capture, retrieved) : undefined };
  }
  return undefined;
}

/** Whether somewhere on a circle another capture is shown in the place of the redirection. */
async function leadsOut(archive: Archive, circle: readonly Capture[], side: Wanted['side']): Promise<boolean> {
  let { time } = circle[0]!;
  for (const { url, urlKey: key, time: own } of circle.slice(1)) {
    const picked = await pick(archive, { key, url, at: time, side });
    if (picked) await releaseBody(picked.retrieved.payload);
    if (picked && !picked.circle) return true;
    time = own;
  }
  return false;
}

/** What is shown at a time, found without reading more of it than must be: damage is for who opens it to tell. */
export async function captureAt(
  archive: Archive,
  wanted: Wanted,
): Promise<Pick<Chosen, 'capture' | 'siblings'> | undefined> {
  const siblings = await archive.capturesOf(wanted.key);
  let spare: Capture | undefined;
  let circle: Capture | undefined;
  let count = 0;
  for await (const capture of candidatesFor(archive, wanted, siblings)) {
    if (++count > CANDIDATES_MAX) break;
    const standing = await standingOf(archive, capture);
    if (standing === 'shown') return { capture, siblings };
    if (standing === 'spare') spare ??= capture;
    if (standing === 'circle') circle ??= capture;
  }
  const last = spare ?? circle;
  return last && { capture: last, siblings };
}

/** Whether a capture is shown for its own time, and no other in its place. */
export async function isShown(archive: Archive, capture: Capture): Promise<boolean> {
  return (await standingOf(archive, capture)) === 'shown';
}

async function standingOf(archive: Archive, capture: Capture): Promise<'shown' | 'spare' | 'circle' | 'never'> {
  const rank = rankOf(capture);
  if (rank !== 'good') return rank === 'spare' ? 'spare' : 'never';
  if (!isKnownByRecord(capture)) return 'shown';
  try {
    const retrieved = await archive.open(capture);
    await releaseBody(retrieved.payload);
    if (await partOf(archive, capture, retrieved)) return 'spare';
    if (lacksAnswer(capture, retrieved.http) || isSelfRedirect(capture, retrieved)) return 'never';
    return (await circleFrom(archive, capture, retrieved, 'either')) ? 'circle' : 'shown';
  } catch (error) {
    // Who is led there is told what is wrong with it.
    if (error instanceof PinakesError) return 'shown';
    throw error;
  }
}

/**
 * Records about a page are no state of it, and a revisit whose content the archive has not is nothing to see, unless it
 * is a redirection.
 */
export function isMemento(capture: Capture): boolean {
  return capture.kind !== 'metadata' && !lacksAnswer(capture);
}

function rankOf(capture: Capture): 'good' | 'spare' | 'unusable' {
  if (!isMemento(capture)) return 'unusable';
  if (capture.kind === 'revisit') return 'good';
  if (capture.kind === 'conversion') return 'spare';
  return capture.status === 304 || (capture.status >= 100 && capture.status < 200) ? 'spare' : 'good';
}

/** Of redirections and parts the record alone tells whether they are shown. */
export function isKnownByRecord(capture: Capture): boolean {
  return isRedirection(capture) || capture.status === 206;
}

/**
 * What an answer has that is less than the content; undefined of others. Players ask for `bytes=0-`, and get all of it
 * as a part.
 */
async function partOf(archive: Archive, capture: Capture, retrieved: Retrieved): Promise<Held | undefined> {
  if (capture.status !== 206) return undefined;
  const held = await heldOf(archive, capture, retrieved);
  return isWhole(held) ? undefined : held;
}

/**
 * Which bytes of a content an answer has. `to` is exclusive; `size` is that of the whole content, undefined when the
 * answer does not say.
 */
export type Held = { readonly from: number; readonly to: number; readonly size: number | undefined };

/** What the head says, as far as it is there: crawlers cut off what is long. */
export async function heldOf(archive: Archive, { block }: Capture, { http, holderHttp }: Retrieved): Promise<Held> {
  const field = http?.get('content-range') ?? holderHttp?.get('content-range') ?? '';
  const [, first, last, size] = /^\s*bytes\s+(\d+)-(\d+)\/(\d+)\s*$/i.exec(field) ?? [];
  if (size === undefined) return { from: 0, to: 0, size: undefined };
  const from = Number(first);
  const [held] = block ? await archive.getBlocks([block]) : [];
  return { from, to: Math.min(Number(last) + 1, from + (held?.size ?? 0)), size: Number(size) };
}

export function isWhole({ from, to, size }: Held): boolean {
  return from === 0 && to === size;
}

/** What of a part a request asks for, if the part has the first byte of that: for the rest players ask next. */
export function askedOf({ from, to, size }: Held, range: string | undefined): { from: number; to: number } | undefined {
  const asked = byteRange(range, size ?? 0);
  const isHeld = asked.kind === 'part' && from <= asked.from && asked.from < to;
  return isHeld ? { from: asked.from, to: Math.min(asked.to, to) } : undefined;
}

function isSelfRedirect(capture: Capture, retrieved: Retrieved): boolean {
  if (!isRedirection(capture)) return false;
  const target = targetOf(capture, retrieved);
  return target !== undefined && urlKey(target) === capture.urlKey;
}

/** Where a redirection leads. One that names nothing leads nowhere, and what was sent with it can be shown. */
function targetOf(capture: Capture, { http }: Retrieved): string | undefined {
  const location = http?.get('location')?.trim() || undefined;
  return location === undefined ? undefined : URL.parse(location, capture.url)?.href;
}

/**
 * What a server answers to the question whether it may be asked (CORS) stands under the same key as what it answers
 * then.
 */
function isPreflight({ head }: Retrieved): boolean {
  return head.get('warc-resource-type') === 'preflight';
}
