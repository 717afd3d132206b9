/**
 * What must hold when all processes of a schedule have stopped: the promises of the book, held against what the catalog
 * answers and against the bytes in the volume. Each line that is returned begins with the invariant that is broken.
 *
 * The judge knows nothing of the code that it judges. It asks a catalog through its interface and reads objects with
 * the reader of WARC files.
 */
import { toHex } from '../../src/base/index.ts';
import type { Block, BlockKey, Capture, CatalogView, Segment } from '../../src/catalog/index.ts';
import { pendingSwaps } from '../../src/ledger/index.ts';
import { type Book, digestOfContent, idOf } from './book.ts';
import { bytesOfSegment, type FoundRecord, type Objects, recordsOf } from './found-record.ts';

/** A catalog as the judge reads it. */
type Rows = {
  readonly captures: readonly Capture[];
  readonly blocks: ReadonlyMap<string, Block>;
  readonly segments: ReadonlyMap<number, Segment>;
  /** The records of each segment up to its catalogued length, by offset; undefined: its bytes are missing. */
  readonly records: ReadonlyMap<number, ReadonlyMap<number, FoundRecord> | undefined>;
};

export async function judgeCatalog(catalog: CatalogView, objects: Objects, book: Book): Promise<string[]> {
  const rows = await rowsOf(catalog, objects);
  return [
    ...judgePlaces(rows, book),
    ...judgeContents(rows, book),
    ...judgePromises(rows, book),
    ...(await judgeCounts(catalog, rows)),
    ...(await judgeBars(catalog, rows, book)),
  ];
}

async function rowsOf(catalog: CatalogView, objects: Objects): Promise<Rows> {
  const captures: Capture[] = [];
  for await (const page of catalog.captures({})) captures.push(...page);
  const blocks = new Map<string, Block>();
  for await (const page of catalog.blocks()) for (const block of page) blocks.set(idOfBlock(block.key), block);
  const segments = new Map((await catalog.segments()).map((segment) => [segment.number, segment]));
  const records = new Map<number, ReadonlyMap<number, FoundRecord> | undefined>();
  for (const segment of segments.values()) {
    const bytes = bytesOfSegment(segment, objects);
    const found = bytes && (await recordsOf(bytes));
    const catalogued = found?.filter(({ offset }) => offset < segment.bytes);
    records.set(segment.number, catalogued && new Map(catalogued.map((record) => [record.offset, record])));
  }
  return { captures, blocks, segments, records };
}

function idOfBlock({ digest, overflow }: BlockKey): string {
  return overflow === 0 ? toHex(digest) : `${toHex(digest)}~${overflow}`;
}

/** I1: every capture points at its own record. */
function judgePlaces({ captures, segments, records }: Rows, book: Book): string[] {
  return captures.flatMap(({ url, time, kind, place, block, hash }) => {
    const id = idOf(url);
    const promised = book.acknowledged.has(id) ? ', acknowledged,' : '';
    const where = `${segments.get(place.segment)?.name ?? `segment ${place.segment}`}@${place.offset}`;
    const record = records.get(place.segment)?.get(place.offset);
    if (!record) return [`I1 the capture ${id}${promised} points at nothing (${where})`];
    const isOwn = record.url === url && record.time === time && record.kind === kind && record.hash === hash;
    if (!isOwn || record.length !== place.length)
      return [`I1 the capture ${id}${promised} points at the record of ${record.url} (${where})`];
    if (kind !== 'revisit' && block && record.digest !== toHex(block.digest))
      return [`I1 the record of the capture ${id}${promised} has another content (${where})`];
    return [];
  });
}

/** I5: the content of every capture is where the catalog says. */
function judgeContents({ captures, blocks, segments, records }: Rows, book: Book): string[] {
  const broken = captures.flatMap(({ url, block }) => {
    const id = idOf(url);
    const promised = book.acknowledged.has(id) ? ', acknowledged,' : '';
    if (!block) return [`I5 the capture ${id}${promised} has no content`];
    const held = blocks.get(idOfBlock(block));
    if (!held) return [`I5 the capture ${id}${promised} has lost its content`];
    const content = book.tried.get(id);
    if (content !== undefined && digestOfContent(content) !== toHex(block.digest))
      return [`I5 the capture ${id}${promised} has another content than it was stored with`];
    return [];
  });
  for (const [id, { holder, size }] of blocks) {
    const record = records.get(holder.segment)?.get(holder.offset);
    const where = `${segments.get(holder.segment)?.name ?? `segment ${holder.segment}`}@${holder.offset}`;
    const isHeld = record && record.type !== 'revisit' && id.startsWith(record.digest) && record.payloadBytes === size;
    if (!isHeld || record.length !== holder.length)
      broken.push(`I5 the content ${nameOf(id, book)} is not where it should be (${where})`);
  }
  return broken;
}

/** The name that the book has for a content. */
function nameOf(digest: string, book: Book): string {
  for (const content of book.tried.values()) if (digestOfContent(content) === digest) return content;
  return digest.slice(0, 8);
}

/** I2: what was acknowledged is there. I6: what was deleted is not. I12: each capture is there once. */
function judgePromises({ captures }: Rows, book: Book): string[] {
  const broken: string[] = [];
  const counts = new Map<string, number>();
  for (const { url } of captures) counts.set(idOf(url), (counts.get(idOf(url)) ?? 0) + 1);
  for (const id of book.acknowledged)
    if (!counts.has(id) && !book.mayBeGone(id)) broken.push(`I2 the acknowledged capture ${id} is gone`);
  for (const [id, count] of counts) if (count > 1) broken.push(`I12 the capture ${id} is there ${count} times`);
  for (const id of counts.keys()) if (!book.tried.has(id)) broken.push(`I2 nobody stored the capture ${id}`);
  for (const id of book.deleted) if (counts.has(id)) broken.push(`I6 the deleted capture ${id} is back`);
  return broken;
}

/** I12: references are counted exactly. Every record is known: as a capture, as dead, or as something else than one. */
async function judgeCounts(catalog: CatalogView, rows: Rows): Promise<string[]> {
  const { captures, blocks, segments, records } = rows;
  const broken: string[] = [];
  const references = new Map<string, number>();
  for (const { block } of captures)
    if (block) references.set(idOfBlock(block), (references.get(idOfBlock(block)) ?? 0) + 1);
  for (const [id, block] of blocks) {
    const counted = references.get(id) ?? 0;
    if (block.references !== counted)
      broken.push(`I12 a content has ${block.references} references on the books, ${counted} in truth`);
    if (counted === 0) broken.push('I12 a content to which nothing refers is on the books');
  }
  const totals = await catalog.totals();
  if (totals.captures !== captures.length || totals.blocks !== blocks.size)
    broken.push(`I12 the totals are ${totals.captures} captures and ${totals.blocks} contents, which is wrong`);
  const captured = new Set(captures.map(({ place }) => `${place.segment} ${place.offset}`));
  // Between the begin and the end of a swap, a record is in two segments, and one of the two is not known.
  const swapping = new Set([...(await pendingSwaps(catalog))].flat(2));
  for (const [number, segment] of segments) {
    const { name, bytes, records: counted, deadBytes } = segment;
    const found = records.get(number);
    if (!found) {
      if (bytes > 0) broken.push(`I2 the bytes of the segment ${name} are missing`);
      continue;
    }
    const last = [...found.values()].at(-1);
    const end = last ? last.offset + (last.length ?? 0) : 0;
    if (end !== bytes) broken.push(`I3 the segment ${name} has ${bytes} bytes on the books, its records end at ${end}`);
    if (found.size !== counted)
      broken.push(`I12 the segment ${name} has ${counted} records on the books, ${found.size} in truth`);
    const dead = await catalog.deadRecords(number);
    const sum = dead.reduce((total, { length }) => total + length, 0);
    if (sum !== deadBytes) broken.push(`I12 the segment ${name} has ${deadBytes} dead bytes on the books, not ${sum}`);
    const buried = new Set(dead.map(({ offset }) => offset));
    for (const { offset, kind, url } of found.values()) {
      const isCapture = captured.has(`${number} ${offset}`);
      if (kind !== undefined && !isCapture && !buried.has(offset) && !swapping.has(name))
        broken.push(`I3 nobody knows the record of ${idOf(url)} (${name}@${offset})`);
      if (isCapture && buried.has(offset)) broken.push(`I12 the record of ${idOf(url)} is dead and has a capture`);
    }
  }
  return broken;
}

/** I6: no capture has a content that was taken down. */
async function judgeBars(catalog: CatalogView, { captures }: Rows, book: Book): Promise<string[]> {
  if (book.barred.size === 0) return [];
  const broken: string[] = [];
  const bars = new Set((await catalog.bars()).map((bar) => (bar.kind === 'content' ? toHex(bar.digest) : bar.urlKey)));
  for (const content of book.barred) {
    const digest = digestOfContent(content);
    if (!bars.has(digest)) broken.push(`I6 the bar of ${content} is gone`);
    for (const { url, block } of captures)
      if (block && toHex(block.digest) === digest)
        broken.push(`I6 the capture ${idOf(url)} has the content ${content}, which was taken down`);
  }
  return broken;
}

/**
 * After compaction and collection: no bytes of what was deleted or barred in any object, no content twice, and no
 * object under a name of the archive's own that nothing speaks of.
 */
export async function judgeObjects(catalog: CatalogView, objects: Objects, book: Book): Promise<string[]> {
  const { captures, segments } = await rowsOf(catalog, objects);
  const broken: string[] = [];
  const barred = new Set([...book.barred].map(digestOfContent));
  const living = new Set(captures.map(({ url }) => idOf(url)));
  const contents = new Set(captures.flatMap(({ block }) => (block ? [toHex(block.digest)] : [])));
  const full = new Map<string, string[]>();
  const named = new Set([...segments.values()].flatMap(({ name, parts = [] }) => [name, ...parts.map((p) => p.name)]));
  for (const [object, bytes] of objects) {
    if (!named.has(object) && !/^_pinakes\/(replaced|catalog)\//.test(object))
      broken.push(`H4 nothing speaks of the object ${object}`);
    for (const { kind, url, digest, offset } of await recordsOf(bytes)) {
      if (kind === undefined) continue;
      const id = idOf(url);
      const where = `${object}@${offset}`;
      if (book.deleted.has(id)) broken.push(`I6 the bytes of the deleted capture ${id} are still there (${where})`);
      if (kind === 'revisit') continue;
      if (barred.has(digest)) broken.push(`I6 bytes that were taken down are still there (${where})`);
      else if (!contents.has(digest) && [...book.deleted].some((gone) => isOf(gone, digest, book)))
        broken.push(`I6 a content that only deleted captures had is still there (${where})`);
      if (living.has(id) && !book.forced.has(id)) full.set(digest, [...(full.get(digest) ?? []), where]);
    }
  }
  for (const [digest, places] of full)
    if (places.length > 1)
      broken.push(
        `I12 the content ${nameOf(digest, book)} is stored ${places.length} times after compaction (${places})`,
      );
  return broken;
}

function isOf(id: string, digest: string, book: Book): boolean {
  const content = book.tried.get(id);
  return content !== undefined && digestOfContent(content) === digest;
}

/**
 * I8: each stream that came to its end gave every record of its snapshot once, but for those that were deleted. Allowed
 * and counted: a catalog that is made again may know a capture that was stored twice by its other record, which can be
 * outside of the snapshot.
 */
export function judgeDeliveries(book: Book): string[] {
  return book.deliveries.flatMap(({ name, wanted, delivered, isComplete, isOfEarlierLife = false }) => {
    const broken: string[] = [];
    const counts = new Map<string, number>();
    for (const id of delivered) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const [id, count] of counts) {
      if (count > 1) broken.push(`I8 the stream ${name} gave ${id} ${count} times`);
      if (!wanted.includes(id)) broken.push(`I8 the stream ${name} gave ${id}, which is not in its snapshot`);
    }
    if (isComplete)
      for (const id of wanted)
        if (!counts.has(id) && book.acknowledged.has(id) && !book.mayBeGone(id)) {
          const isAllowed = isOfEarlierLife && book.retried.has(id);
          if (isAllowed) book.allowed.add(`the stream ${name} left out ${id}, which was stored twice`);
          else broken.push(`I8 the stream ${name} left out ${id}`);
        }
    return broken;
  });
}

/**
 * What a catalog says, in lines that do not depend on its numbers, on which record of several holds a content, or on
 * which of two records of a capture that was stored twice is its record (R5, R6).
 */
export async function describeCatalog(catalog: CatalogView): Promise<string[]> {
  const lines: string[] = [];
  for await (const page of catalog.captures({}))
    for (const { url, time, status, mime, block, hash } of page)
      lines.push(`capture ${url} ${time} ${status} ${mime} ${block && idOfBlock(block)} ${hash}`);
  for await (const page of catalog.blocks())
    for (const { key, size, references } of page) lines.push(`content ${idOfBlock(key)} ${size} ${references}`);
  for (const bar of await catalog.bars()) lines.push(`bar ${bar.kind === 'content' ? toHex(bar.digest) : bar.urlKey}`);
  for (const { name, state, bytes, records } of await catalog.segments())
    if (records > 0) lines.push(`segment ${name} ${state} ${bytes} ${records}`);
  return lines.sort();
}

/**
 * A catalog that was made again from the segments answers as the old one. With the book, two kinds of captures may
 * differ, and the contents that only they have: those of which a client was promised nothing, since a record that was
 * refused may be entered when the content that it refers to is still there; and those of a content that is being taken
 * down.
 */
export async function judgeRebuilt(old: CatalogView, rebuilt: CatalogView, book?: Book): Promise<string[]> {
  const before = await describeCatalog(old);
  const after = await describeCatalog(rebuilt);
  const missing = before.filter((line) => !after.includes(line));
  const added = after.filter((line) => !before.includes(line));
  const contentOf = (line: string) => / ([0-9a-f]{64}(~\d+)?) /.exec(line)?.[1] ?? '';
  const barTried = book ? [...book.barTried].filter((content) => !book.barred.has(content)) : [];
  const unproved = new Set(barTried.map(digestOfContent));
  const mayBeMissing = (line: string) => line.startsWith('capture ') && unproved.has(contentOf(line));
  const mayBeAdded = (line: string) =>
    line.startsWith('capture ') && book !== undefined && !book.isPromised(idOf(line.split(' ')[1]!));
  const touched = new Set([...missing.filter(mayBeMissing), ...added.filter(mayBeAdded)].map(contentOf));
  const counts = (line: string) => line.startsWith('content ') && touched.has(contentOf(line));
  return [
    ...missing
      .filter((line) => !mayBeMissing(line) && !counts(line))
      .map((line) => `R2 the rebuilt catalog does not have: ${line}`),
    ...added
      .filter((line) => !mayBeAdded(line) && !counts(line))
      .map((line) => `R2 only the rebuilt catalog has: ${line}`),
  ];
}
