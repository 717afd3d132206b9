/**
 * Takedowns: contents and URLs are barred for good in the commit that deletes their captures (D3). Nothing that is
 * barred is stored, added, healed or rebuilt again. The bytes leave the segments with the next compaction; what is left
 * of them until then is reported.
 */
import { PinakesError } from '../../base/index.ts';
import { type Bar, type Capture, rangeOfKey } from '../../catalog/index.ts';
import { BARS_MAX, proveTakedown, type TakedownProof, takeDown } from '../../ledger/index.ts';
import { typedUrl, type UrlKey, urlKey } from '../../url/index.ts';
import { parseContentKey } from '../content-key.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { CaptureReader } from '../read/capture-reader.ts';
import { blockId, parseBlockId } from '../revisit/catalog-draft.ts';
import { refreshSegments } from '../segment/listed-segment.ts';
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

export type TakedownPreview = {
  /** Captures that would be deleted. */
  captures: number;
  /** How many contents and URLs would be barred. */
  readonly contents: number;
  readonly urls: number;
  /** URLs of the first captures. */
  readonly examples: string[];
};

export type TakedownReport = Pick<TakedownPreview, 'captures' | 'contents' | 'urls'> & BarredBytes;

/** Where bytes of what is barred still are. */
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
export async function carryOutTakedown(archive: OpenedArchive, input: TakedownInput): Promise<TakedownReport> {
  const { catalog, newId } = archive;
  const bars = await barsOf(catalog, input);
  const changed = new Set<number>();
  const options = {
    catalog,
    lease: undefined,
    deleter: await archive.exclusive(() => deleterOf(archive, changed)),
    exclusive: <Answer>(step: () => Promise<Answer>) =>
      archive.exclusive(async () => {
        // Pending replacements are swapped in before. Otherwise their copies of the deleted records would stay.
        await finishSwaps(archive);
        const answer = await step();
        await refreshSegments(archive, changed);
        changed.clear();
        return answer;
      }),
    seal: (names: readonly string[]) => sealOpenSegments(archive, ({ name }) => names.includes(name)),
    // This process is the only one that writes, so there are no others to wait for.
    sleep: async () => {},
    waitMs: 0,
  };
  const { captures } = await takeDown(options, { id: newId(), bars });
  return { captures, ...countsOf(bars), ...bytesLeft(await proveTakedown(catalog, bars)) };
}

/** All that is barred in the archive. */
export async function listTakedowns({ catalog }: OpenedArchive): Promise<Takedowns> {
  const bars = await catalog.bars();
  const proof = await proveTakedown(catalog, bars);
  return {
    contents: bars.flatMap((bar) => (bar.kind === 'content' ? [Buffer.from(bar.digest).toString('hex')] : [])).sort(),
    urls: bars.flatMap((bar) => (bar.kind === 'url' ? [bar.urlKey] : [])).sort(),
    captures: proof.captures,
    ...bytesLeft(proof),
  };
}

function bytesLeft({ captures, unsealed, uncompacted }: TakedownProof): BarredBytes {
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
  const contents = new Set(
    bars.flatMap((bar) => (bar.kind === 'content' ? [blockId({ digest: bar.digest, overflow: 0 })] : [])),
  );
  // Captures are not indexed by content, so all of them are read.
  const ranges = contents.size > 0 ? [{}] : [...urls].map(rangeOfKey);
  for (const range of ranges)
    for await (const page of reader.captures(range))
      for (const capture of page) {
        const { block } = capture;
        if (urls.has(capture.urlKey) || (block && contents.has(blockId({ ...block, overflow: 0 })))) yield capture;
      }
}
