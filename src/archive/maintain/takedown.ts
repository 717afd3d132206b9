/**
 * Takedowns: contents and URLs are barred for good in the commit that deletes their captures (D3). Nothing that is
 * barred is stored, added, healed or rebuilt again. The bytes leave the segments with the next compaction; what is left
 * of them until then is reported.
 *
 * Who takes what down, when and why is in a signed log (takedown/takedown-log.ts): one entry before anything is
 * deleted, one when it is done. A takedown without the second was interrupted, and can be asked for again.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { badArgument, formatW3cDate, PinakesError, toHex } from '../../base/index.ts';
import { type Bar, type BlockKey, type Capture, rangeOfKey } from '../../catalog/index.ts';
import { BARS_MAX, proveTakedown, type TakedownProof, takeDown } from '../../ledger/index.ts';
import { typedUrl, type UrlKey, urlKey } from '../../url/index.ts';
import { parseContentKey } from '../content-key.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { CaptureReader } from '../read/capture-reader.ts';
import { blockId, parseBlockId } from '../revisit/catalog-draft.ts';
import { refreshSegments } from '../segment/listed-segment.ts';
import type { TakedownFacts, TakenCapture } from '../takedown/log-entry.ts';
import { packsOf } from './copies.ts';
import { deleterOf } from './deleter.ts';
import { finishSwaps } from './segment-swap.ts';
import { sealOpenSegments } from './volume-admin.ts';

export type TakedownInput = {
  /** Content keys. */
  readonly keys?: readonly string[] | undefined;
  readonly urls?: readonly string[] | undefined;
  /** Whether the contents that the URLs have now are barred too, under every URL. */
  readonly withContents?: boolean | undefined;
};

/** Why something is taken down, and who does it: for the log. */
export type TakedownGround = { readonly reason: string; readonly by: string };

export type TakedownPreview = {
  /** Captures that would be deleted. */
  captures: number;
  /** How many contents and URLs would be barred. */
  readonly contents: number;
  readonly urls: number;
  /** URLs of the first captures. */
  readonly examples: string[];
};

export type TakedownReport = Pick<TakedownPreview, 'captures' | 'contents' | 'urls'> &
  BarredBytes & {
    /** The number of its entry in the log. */
    readonly takedown: number;
  };

/** Where bytes of what is barred still are. Packs of copies (content-copies.ts) are listed like segments. */
export type BarredBytes = Pick<TakedownProof, 'unsealed' | 'uncompacted'> & {
  /** Whether no segment has bytes of what is barred. */
  readonly isGone: boolean;
};

/** What is barred, and what is left of it. */
export type Takedowns = BarredBytes & {
  /** SHA-256 of the contents, in hexadecimal. */
  readonly contents: readonly string[];
  readonly urls: readonly UrlKey[];
  /** Captures of what is barred. There are none, unless a takedown was interrupted: run it again. */
  readonly captures: number;
};

const EXAMPLES_MAX = 10;
/** So many captures are listed in an entry of the log. Others are only counted. */
const LISTED_MAX = 2000;
const KEPT_MAX = 2000;
const REASON_LENGTH_MAX = 10_000;
const NAME_LENGTH_MAX = 500;
const BLOCKS_AT_ONCE = 1000;

export async function previewTakedown(reader: CaptureReader, input: TakedownInput): Promise<TakedownPreview> {
  const bars = await barsOf(reader, input);
  const preview: TakedownPreview = { captures: 0, ...countsOf(bars), examples: [] };
  for await (const { url } of capturesUnder(reader, bars)) {
    preview.captures++;
    if (preview.examples.length < EXAMPLES_MAX) preview.examples.push(url);
  }
  return preview;
}

/** Stores go on while the catalog is searched. They wait only for the deletions. */
export async function carryOutTakedown(
  archive: OpenedArchive,
  input: TakedownInput,
  ground: TakedownGround,
): Promise<TakedownReport> {
  const { reason, by } = checkedGround(ground);
  const { catalog, newId, takedownLog } = archive;
  const bars = await barsOf(catalog, input);
  const request = newId();
  const facts = await factsOf(archive, bars, request, reason);
  const { number: takedown } = await archive.exclusive(() => takedownLog.append(by, facts));
  const changed = new Set<number>();
  const options = {
    catalog,
    lease: archive.lease,
    deleter: await archive.exclusive(() => deleterOf(archive, changed)),
    exclusive: <Answer>(step: () => Promise<Answer>) =>
      archive.exclusive(async () => {
        // Pending replacements are swapped in before. Otherwise their copies of the deleted records would stay.
        await finishSwaps(archive).catch((error: unknown) => unlessCompacting(archive, error));
        const answer = await step();
        await refreshSegments(archive, changed);
        changed.clear();
        return answer;
      }),
    seal: (names: readonly string[]) => sealOpenSegments(archive, ({ name }) => names.includes(name)),
    // Without a cluster, this process is the only one that writes, so there are no others to wait for.
    sleep: async (ms: number) => void (archive.cluster && (await wait(ms))),
    waitMs: archive.cluster ? 2 * archive.cluster.lifeMs : 0,
  };
  const { captures, unsealed } = await takeDown(options, { id: request, bars });
  await archive.exclusive(() => takedownLog.append(by, { kind: 'carried out', takedown, captures, unsealed }));
  return {
    takedown,
    captures,
    ...countsOf(bars),
    ...(await bytesLeft(archive, bars, await proveTakedown(catalog, bars))),
  };
}

/** A compaction of another machine swaps in what it writes, and enters as dead what is deleted meanwhile (K1). */
function unlessCompacting({ cluster }: OpenedArchive, error: unknown): void {
  if (!cluster || !(error instanceof PinakesError) || error.code !== 'ARCHIVE_BUSY') throw error;
}

function checkedGround({ reason, by }: TakedownGround): TakedownGround {
  const refused = (detail: string) => badArgument('takedown', detail);
  if (reason.trim() === '') throw refused('give the reason with --reason: the log and the receipt state it');
  if (reason.length > REASON_LENGTH_MAX) throw refused(`a reason has at most ${REASON_LENGTH_MAX} characters`);
  if (by.trim() === '') throw refused('say with --by who takes it down');
  if (by.length > NAME_LENGTH_MAX) throw refused(`a name has at most ${NAME_LENGTH_MAX} characters`);
  return { reason: reason.trim(), by: by.trim() };
}

/** What the log says of a takedown, without any bytes of a content. */
async function factsOf(
  archive: OpenedArchive,
  bars: readonly Bar[],
  request: string,
  reason: string,
): Promise<TakedownFacts> {
  const { collections } = archive;
  await using catalog = await archive.catalog.view();
  const names = new Map((await catalog.segments()).map(({ number, name }) => [number, name]));
  const barred = contentsOf(bars);
  const segments = new Set<string>();
  const inCollections = new Set<string>();
  const listed: TakenCapture[] = [];
  /** How many captures of each content go. */
  const going = new Map<string, number>();
  let captures = 0;
  for await (const { url, time, place, block, collection } of capturesUnder(catalog, bars)) {
    captures++;
    const segment = names.get(place.segment)!;
    const name = await collections.name(collection);
    segments.add(segment);
    inCollections.add(name);
    if (block) going.set(blockId(block), (going.get(blockId(block)) ?? 0) + 1);
    const content = block && { content: `sha256:${toHex(block.digest)}` };
    if (listed.length < LISTED_MAX)
      listed.push({ url, time: formatW3cDate(time), collection: name, segment, ...content });
  }
  const kept: { content: string; captures: number }[] = [];
  const ids = [...going.keys()];
  for (let at = 0; at < ids.length; at += BLOCKS_AT_ONCE) {
    const keys = ids.slice(at, at + BLOCKS_AT_ONCE).map((id) => parseBlockId(id)!);
    const references = await catalog.countReferences(keys);
    for (const [index, block] of (await catalog.getBlocks(keys)).entries()) {
      if (!block) continue;
      const holder = names.get(block.holder.segment);
      const others = references[index]! - going.get(blockId(block.key))!;
      const isKept = others > 0 && !barred.has(contentId(block.key));
      if (holder !== undefined && !isKept) segments.add(holder);
      if (isKept && kept.length < KEPT_MAX)
        kept.push({ content: `sha256:${toHex(block.key.digest)}`, captures: others });
    }
  }
  const contents = bars.flatMap((bar) => (bar.kind === 'content' ? [`sha256:${toHex(bar.digest)}`] : []));
  const urls = bars.flatMap((bar) => (bar.kind === 'url' ? [bar.urlKey] : []));
  const places = { segments: [...segments].sort(), collections: [...inCollections].sort() };
  return { kind: 'takedown', request, reason, contents, urls, captures, listed, ...places, kept };
}

function contentsOf(bars: readonly Bar[]): Set<string> {
  return new Set(bars.flatMap((bar) => (bar.kind === 'content' ? [contentId({ digest: bar.digest })] : [])));
}

/** A content with this digest, whatever its overflow: a takedown bars the digest. */
function contentId({ digest }: Pick<BlockKey, 'digest'>): string {
  return blockId({ digest, overflow: 0 });
}

/** All that is barred in the archive. */
export async function listTakedowns(archive: OpenedArchive): Promise<Takedowns> {
  const { catalog } = archive;
  const bars = await catalog.bars();
  const proof = await proveTakedown(catalog, bars);
  return {
    contents: bars.flatMap((bar) => (bar.kind === 'content' ? [Buffer.from(bar.digest).toString('hex')] : [])).sort(),
    urls: bars.flatMap((bar) => (bar.kind === 'url' ? [bar.urlKey] : [])).sort(),
    captures: proof.captures,
    ...(await bytesLeft(archive, bars, proof)),
  };
}

async function bytesLeft(archive: OpenedArchive, bars: readonly Bar[], proof: TakedownProof): Promise<BarredBytes> {
  const { captures, unsealed } = proof;
  const digests = bars.flatMap((bar) => (bar.kind === 'content' ? [bar.digest] : []));
  const uncompacted = [...proof.uncompacted, ...(await packsOf(archive, digests))];
  return { unsealed, uncompacted, isGone: captures + unsealed.length + uncompacted.length === 0 };
}

async function barsOf(reader: CaptureReader, input: TakedownInput): Promise<Bar[]> {
  const { keys = [], urls = [], withContents = false } = input;
  const urlKeys = [...new Set(urls.map((url) => urlKey(typedUrl(url))))];
  const contents = new Set(keys.map((key) => blockId({ ...parseContentKey(key), overflow: 0 })));
  if (withContents)
    for (const key of urlKeys)
      for await (const page of reader.captures(rangeOfKey(key)))
        for (const { block } of page) if (block) contents.add(blockId({ ...block, overflow: 0 }));
  const bars: Bar[] = urlKeys.map((key) => ({ kind: 'url', urlKey: key }));
  for (const id of contents) bars.push({ kind: 'content', digest: parseBlockId(id)!.digest });
  if (bars.length > 0 && bars.length <= BARS_MAX) return bars;
  const detail = bars.length === 0 ? 'name contents or URLs' : `it is limited to ${BARS_MAX} contents and URLs at once`;
  throw new PinakesError('BAD_ARGUMENT', { where: 'takedown', detail });
}

function countsOf(bars: readonly Bar[]): { readonly contents: number; readonly urls: number } {
  const urls = bars.filter(({ kind }) => kind === 'url').length;
  return { contents: bars.length - urls, urls };
}

async function* capturesUnder(reader: CaptureReader, bars: readonly Bar[]): AsyncGenerator<Capture> {
  const urls = new Set(bars.flatMap((bar) => (bar.kind === 'url' ? [bar.urlKey] : [])));
  const contents = contentsOf(bars);
  // Captures are not indexed by content, so all of them are read.
  const ranges = contents.size > 0 ? [{}] : [...urls].map(rangeOfKey);
  for (const range of ranges)
    for await (const page of reader.captures(range))
      for (const capture of page) {
        const { block } = capture;
        if (urls.has(capture.urlKey) || (block && contents.has(contentId(block)))) yield capture;
      }
}
