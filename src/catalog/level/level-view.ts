/**
 * Reads a LevelDB catalog from one snapshot: a capture and the block that it names are of the same instant.
 *
 * Failures of LevelDB and damaged rows are thrown as errors that name the catalog.
 */
import type { Snapshot } from 'classic-level';
import { assert, type EpochMs, equal } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import {
  type BlockEntry,
  type BlockReference,
  blockOf,
  blockRowKey,
  prefixOf,
  prefixOfRowKey,
  readBlockRow,
} from '../block-codec.ts';
import { compareBlockKeys } from '../block-order.ts';
import { type LinkedCapture, readCapture, readCaptureHash, withBlock } from '../capture-codec.ts';
import { answersOf, isWholeTime, nearestOf, positionText, type Scan, scansFor } from '../capture-scan.ts';
import {
  type Alias,
  type Bar,
  type Block,
  type BlockKey,
  type Capture,
  type CaptureQuestion,
  type CaptureRange,
  type CatalogView,
  type DeadRecord,
  FEW_CAPTURES,
  type Mark,
  type Segment,
  type SurplusRecord,
  type Totals,
} from '../catalog.ts';
import { ALIAS_CANDIDATES_MAX } from '../declared-digest.ts';
import {
  atTimeOf,
  clampTime,
  timeOfCaptureKey,
  writeCaptureKey,
  writeKeyAndEnd,
  writeKeyAndTime,
} from '../key-order.ts';
import { DamagedRow, RowWriter } from '../row-bytes.ts';
import { nameRange, numberKey, TABLE, tableRange } from '../table.ts';
import { aliasStart, declaredOfAlias, referenceOfAlias } from './alias-key.ts';
import { barKey, markKey, markOfKey, readBar } from './bar-codec.ts';
import { type CaptureBounds, captureBounds } from './capture-bounds.ts';
import { type Database, readRows, readTotals, TOTALS_KEY } from './level-database.ts';
import { levelError } from './level-error.ts';
import type { MimeDictionary } from './mime-dictionary.ts';
import { readDead, readSurplus, recordRange } from './record-codec.ts';
import { readSegment } from './segment-codec.ts';

export const PAGE_SIZE = 1000;

/**
 * How many questions are answered at the same time. The database reads on other threads, and answers that arrive
 * together wake this thread less often than single ones.
 */
const LANES = 8;
/** The most bytes of a page, so that long URLs do not make it large. */
const PAGE_BYTES_MAX = 1024 * 1024;

/** By default the database returns fewer rows than requested once they are 16 KiB together. */
const ALL_AT_ONCE = 2 ** 31;

type Row = [Buffer, Buffer];

type RowRange = { readonly from: Buffer; readonly to: Buffer } & Partial<Pick<CaptureBounds, 'reverse' | 'skipFrom'>>;

/** Questions that no lane has taken yet, with their indexes. */
type Questions<Question> = Iterable<[number, Question]>;

export class LevelView implements CatalogView {
  readonly #database: Database;
  readonly #snapshot: Snapshot | undefined;
  readonly #mimes: MimeDictionary;
  readonly #onBlockRow: (prefix: number, row: Buffer | undefined) => void;

  /**
   * Without a snapshot, only single rows may be read. `onBlockRow` is called with every row that a look-up of blocks
   * reads.
   */
  constructor(
    database: Database,
    snapshot: Snapshot | undefined,
    mimes: MimeDictionary,
    onBlockRow: (prefix: number, row: Buffer | undefined) => void = () => {},
  ) {
    this.#database = database;
    this.#snapshot = snapshot;
    this.#mimes = mimes;
    this.#onBlockRow = onBlockRow;
  }

  findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]> {
    return this.#guard(async () => {
      const rows = await this.#blockRows(digests.map(prefixOf));
      const blocksOf = (digest: Uint8Array, index: number) =>
        heldBlocks(rows[index]!.filter((entry) => equal(entry.key.digest, digest)));
      return digests.map(blocksOf);
    });
  }

  getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]> {
    return this.#guard(async () => {
      const rows = await this.#blockRows(keys.map((key) => prefixOf(key.digest)));
      return keys.map((key, index) => {
        const entry = rows[index]!.find((candidate) => compareBlockKeys(candidate.key, key) === 0);
        return entry && blockOf(entry);
      });
    });
  }

  async countReferences(keys: readonly BlockKey[]): Promise<number[]> {
    return (await this.getBlocks(keys)).map((block) => block?.references ?? 0);
  }

  findAliases(declared: readonly Uint8Array[]): Promise<BlockKey[][]> {
    return this.#guard(async () => {
      const references: BlockReference[][] = declared.map(() => []);
      await inLanes(declared, (left) => this.#findAliasesInLane(left, references));
      const keys = await this.#blockKeys(references.flat());
      let at = 0;
      return references.map((found) => {
        at += found.length;
        return keys.slice(at - found.length, at).sort(compareBlockKeys);
      });
    });
  }

  async #findAliasesInLane(left: Questions<Uint8Array>, references: BlockReference[][]): Promise<void> {
    const { from, to } = tableRange(TABLE.aliases);
    await using iterator = this.#database.keys({ gte: from, lt: to, snapshot: this.#snapshot, fillCache: true });
    for (const [index, digest] of left) {
      const start = aliasStart(digest);
      const found: BlockReference[] = [];
      iterator.seek(start);
      for (let isDone = false; !isDone; ) {
        const keys = await iterator.nextv(found.length === 0 ? 2 : ALIAS_CANDIDATES_MAX);
        const matching = keys.filter((key) => key.subarray(0, start.length).equals(start));
        found.push(...matching.map(referenceOfAlias));
        isDone = keys.length === 0 || matching.length < keys.length || found.length >= ALIAS_CANDIDATES_MAX;
      }
      references[index] = found.slice(0, ALIAS_CANDIDATES_MAX);
    }
  }

  async *captures(range: CaptureRange, pageSize = PAGE_SIZE): AsyncGenerator<Capture[]> {
    assert(pageSize > 0, 'a page holds at least one capture');
    const bounds = captureBounds(range);
    if (!bounds) return;
    const { holds, holdsKey } = bounds;
    yield* this.#pages(bounds, pageSize, async (rows) => {
      const read = await this.#readCaptures(rows.filter(([key]) => holds(timeOfCaptureKey(key))));
      return holdsKey ? read.filter(({ urlKey }) => holdsKey(urlKey)) : read;
    });
  }

  findCaptures(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]> {
    return this.#guard(() => this.#answersTo(questions));
  }

  async #answersTo(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]> {
    const { scans, scanOf } = scansFor<LinkedCapture>(questions);
    await inLanes(scans, (left) => this.#findCapturesInLane(left));
    const placed = questions.filter(({ at }) => at);
    const resolved = await this.#resolve([...scans.flatMap(({ found }) => found), ...(await this.#capturesAt(placed))]);
    let at = 0;
    const answers = new Map(
      scans.map((scan) => [scan, answersOf(scan, resolved.slice(at, (at += scan.found.length)))] as const),
    );
    const byPlace = new Map(resolved.slice(at).map((capture) => [positionText(capture, capture.place), capture]));
    return questions.map((question) => {
      const scan = scanOf.get(question);
      if (scan) return answers.get(scan)!(question.ofHash);
      const capture = byPlace.get(positionText(question, question.at!));
      return capture ? [capture] : [];
    });
  }

  /** The captures of questions that name a place, if they exist: each is one row. */
  async #capturesAt(questions: readonly CaptureQuestion[]): Promise<LinkedCapture[]> {
    const writer = new RowWriter();
    const keys = new Map<string, Buffer>();
    for (const question of questions) {
      const { urlKey, time, at } = question;
      if (!isWholeTime(time)) continue;
      writeCaptureKey(writer, { urlKey, time, ...at! });
      keys.set(positionText(question, at!), writer.finish());
    }
    const rows = [...keys.values()];
    const values = await readRows(this.#database, rows, this.#snapshot);
    return rows.flatMap((key, index) => (values[index] ? [readCapture(key, values[index], this.#mimes)] : []));
  }

  async #findCapturesInLane(left: Questions<Scan<LinkedCapture>>): Promise<void> {
    const { from, to } = tableRange(TABLE.captures);
    await using iterator = this.#database.iterator({ gte: from, lt: to, snapshot: this.#snapshot, fillCache: true });
    const writer = new RowWriter();
    for (const [, { question, hashes, found }] of left) {
      const { urlKey, time, timeTo = time, limit = Number.POSITIVE_INFINITY } = question;
      if (!isWholeTime(time)) continue;
      writeKeyAndTime(writer, urlKey, time);
      const start = writer.finish();
      const end = atTimeOf(start, writer, clampTime(timeTo + 1));
      iterator.seek(start);
      for (let page = 2, isDone = false; !isDone; page = PAGE_SIZE) {
        const rows: Row[] = await iterator.nextv(page);
        const matching = rows.filter(([key]) => key.compare(end) < 0).slice(0, limit - found.length);
        for (const [key, value] of matching)
          if (!hashes || hashes.has(readCaptureHash(value))) found.push(readCapture(key, value, this.#mimes));
        isDone = rows.length === 0 || matching.length < rows.length;
      }
    }
  }

  capturesOf(urlKey: UrlKey): Promise<readonly Capture[] | undefined> {
    return this.#guard(async () => {
      await using iterator = this.#database.iterator({
        gte: keyAndEnd(urlKey),
        lt: keyAndTime(urlKey, Number.POSITIVE_INFINITY),
        limit: FEW_CAPTURES + 1,
        snapshot: this.#snapshot,
        fillCache: true,
        highWaterMarkBytes: ALL_AT_ONCE,
      });
      const rows: Row[] = await iterator.nextv(FEW_CAPTURES + 1);
      return rows.length > FEW_CAPTURES ? undefined : await this.#readCaptures(rows);
    });
  }

  nearest(urlKey: UrlKey, time: EpochMs, side: 'either' | 'notAfter' = 'either'): Promise<Capture | undefined> {
    return this.#guard(async () => {
      const few = await this.capturesOf(urlKey);
      if (few) return nearestOf(few, time, side);
      const row = await this.#nearestRow(urlKey, time, side);
      return row && (await this.#readCaptures([row]))[0];
    });
  }

  async #nearestRow(urlKey: UrlKey, time: EpochMs, side: 'either' | 'notAfter'): Promise<Row | undefined> {
    const [before, after] = await Promise.all([
      this.#lastBefore(urlKey, Math.floor(time) + 1),
      side === 'either' ? this.#firstFrom(urlKey, Math.floor(time) + 1) : undefined,
    ]);
    const beforeTime = before && timeOfCaptureKey(before[0]);
    const afterTime = after && timeOfCaptureKey(after[0]);
    const isAfterNearer = afterTime !== undefined && (beforeTime === undefined || afterTime - time < time - beforeTime);
    return isAfterNearer ? this.#lastBefore(urlKey, afterTime + 1) : before;
  }

  async *blocks(pageSize = PAGE_SIZE): AsyncGenerator<Block[]> {
    assert(pageSize > 0, 'a page holds at least one block');
    const blocksIn = ([key, value]: Row) => heldBlocks(readBlockRow(prefixOfRowKey(key), value));
    for await (const page of this.#pages(tableRange(TABLE.blocks), pageSize, (rows) => rows.flatMap(blocksIn)))
      for (let at = 0; at < page.length; at += pageSize) yield page.slice(at, at + pageSize);
  }

  segments(): Promise<Segment[]> {
    return this.#allOf(tableRange(TABLE.segments), readSegment);
  }

  segment(number: number): Promise<Segment | undefined> {
    return this.#guard(async () => {
      const key = numberKey(TABLE.segments, number);
      const [value] = await this.#values([key]);
      return value && readSegment(key, value);
    });
  }

  async segmentByName(name: string): Promise<Segment | undefined> {
    return (await this.segments()).find((segment) => segment.name === name);
  }

  findDeleted(marks: readonly Mark[]): Promise<boolean[]> {
    return this.#guard(async () => (await this.#values(marks.map(markKey))).map((value) => value !== undefined));
  }

  findBarred(captures: readonly Pick<Capture, 'urlKey' | 'block'>[]): Promise<boolean[]> {
    return this.#guard(async () => {
      const urls = captures.map(({ urlKey }) => barKey({ kind: 'url', urlKey }));
      const contents = captures.map(({ block }) => block && barKey({ kind: 'content', digest: block.digest }));
      const ofUrl = await this.#values(urls);
      const ofContent = await this.#values(contents.filter((key) => key !== undefined));
      let at = 0;
      return contents.map((key, index) => {
        const isContentBarred = key !== undefined && ofContent[at++] !== undefined;
        return isContentBarred || ofUrl[index] !== undefined;
      });
    });
  }

  bars(): Promise<Bar[]> {
    return this.#allOf(tableRange(TABLE.bars), readBar);
  }

  deadRecords(segment: number): Promise<DeadRecord[]> {
    return this.#allOf(recordRange(TABLE.dead, segment), readDead);
  }

  surplusRecords(segment: number): Promise<SurplusRecord[]> {
    return this.#allOf(recordRange(TABLE.surplus, segment), readSurplus);
  }

  #allOf<Item>({ from, to }: RowRange, read: (key: Buffer, value: Buffer) => Item): Promise<Item[]> {
    return this.#guard(async () => {
      const rows = await this.#database.iterator({ gte: from, lt: to, snapshot: this.#snapshot }).all();
      return rows.map(([key, value]) => read(key, value));
    });
  }

  #values(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    return readRows(this.#database, keys, this.#snapshot);
  }

  async notes(prefix = ''): Promise<Record<string, string>> {
    const notes: [string, string][] = [];
    for await (const page of this.notePages(prefix)) notes.push(...page);
    return Object.fromEntries(notes);
  }

  notePages(prefix: string): AsyncGenerator<[name: string, text: string][]> {
    const noteOf = ([key, value]: Row): [string, string] => [key.toString('utf8', 1), value.toString('utf8')];
    return this.#pages(nameRange(TABLE.notes, prefix), PAGE_SIZE, (rows) => rows.map(noteOf));
  }

  /** Reads the rows of a range page by page, and yields what `read` makes of each page unless that is empty. */
  async *#pages<Item>(
    { from, to, reverse = false, skipFrom }: RowRange,
    pageSize: number,
    read: (rows: Row[]) => Item[] | Promise<Item[]>,
  ): AsyncGenerator<Item[]> {
    try {
      const options = { snapshot: this.#snapshot, highWaterMarkBytes: PAGE_BYTES_MAX };
      await using iterator = this.#database.iterator({ gte: from, lt: to, reverse, ...options });
      for (;;) {
        const rows: Row[] = await iterator.nextv(pageSize);
        const last = rows.at(-1);
        if (!last) return;
        const page = await read(rows);
        if (page.length > 0) yield page;
        const next = skipFrom?.(last[0]);
        if (next) iterator.seek(next);
      }
    } catch (error) {
      throw levelError(error, this.#database.location);
    }
  }

  async #guard<Answer>(read: () => Promise<Answer>): Promise<Answer> {
    try {
      return await read();
    } catch (error) {
      throw levelError(error, this.#database.location);
    }
  }

  /** In the order of their declared digests, for a copy. */
  async *aliases(): AsyncGenerator<Alias[]> {
    const aliasesOf = async (rows: Row[]) => {
      const blocks = await this.#blockKeys(rows.map(([key]) => referenceOfAlias(key)));
      return rows.map(([key], index) => ({ declared: declaredOfAlias(key), block: blocks[index]! }));
    };
    yield* this.#pages(tableRange(TABLE.aliases), PAGE_SIZE, aliasesOf);
  }

  /** In the order of their bytes, for a copy. */
  async *deletedMarks(): AsyncGenerator<Mark[]> {
    yield* this.#pages(tableRange(TABLE.deleted), PAGE_SIZE, (rows) => rows.map(([key]) => markOfKey(key)));
  }

  totals(): Promise<Totals> {
    return this.#guard(async () => readTotals(this.#database.getSync(TOTALS_KEY, { snapshot: this.#snapshot })).totals);
  }

  /** The last capture of the key before the time. */
  async #lastBefore(urlKey: UrlKey, time: EpochMs): Promise<Row | undefined> {
    return this.#oneRow(keyAndEnd(urlKey), keyAndTime(urlKey, time), true);
  }

  /** The first capture of the key at the time or later. */
  async #firstFrom(urlKey: UrlKey, time: EpochMs): Promise<Row | undefined> {
    return this.#oneRow(keyAndTime(urlKey, time), keyAndTime(urlKey, Number.POSITIVE_INFINITY), false);
  }

  async #oneRow(gte: Buffer, lt: Buffer, reverse: boolean): Promise<Row | undefined> {
    const options = { reverse, limit: 1, snapshot: this.#snapshot, fillCache: true };
    await using iterator = this.#database.iterator({ gte, lt, ...options });
    return await iterator.next();
  }

  async #readCaptures(rows: readonly Row[]): Promise<Capture[]> {
    return this.#resolve(rows.map(([key, value]) => readCapture(key, value, this.#mimes)));
  }

  /** Looks up the blocks of captures whose rows have format 3. */
  async #resolve(captures: readonly LinkedCapture[]): Promise<Capture[]> {
    const references = captures.flatMap(({ reference }) => reference ?? []);
    const keys = references.length > 0 ? await this.#blockKeys(references) : [];
    let at = 0;
    return captures.map((linked) => withBlock(linked, linked.reference ? keys[at++] : linked.block));
  }

  /** The blocks that these references name. */
  async #blockKeys(references: readonly BlockReference[]): Promise<BlockKey[]> {
    const rows = await this.#blockRows(references.map((reference) => reference.prefix));
    return references.map((reference, index) => {
      const entry = rows[index]!.find((candidate) => candidate.slot === reference.slot);
      if (!entry) throw new DamagedRow('a capture or an alias names a missing block');
      return entry.key;
    });
  }

  /** The entries of these prefixes. Each row is read once. */
  async #blockRows(prefixes: readonly number[]): Promise<BlockEntry[][]> {
    const distinct = [...new Set(prefixes)];
    const values = await readRows(this.#database, distinct.map(blockRowKey), this.#snapshot);
    for (let index = 0; index < distinct.length; index++) this.#onBlockRow(distinct[index]!, values[index]);
    const rows = new Map(distinct.map((prefix, index) => [prefix, readBlockRow(prefix, values[index])]));
    return prefixes.map((prefix) => rows.get(prefix)!);
  }
}

/**
 * Answers questions in a few lanes, each taking the next question until none is left. All lanes end before this
 * function does, also when one fails, because their iterators must be closed.
 */
async function inLanes<Question>(
  questions: readonly Question[],
  answer: (left: Questions<Question>) => Promise<void>,
): Promise<void> {
  const left = questions.entries();
  const lanes = Array.from({ length: Math.min(LANES, questions.length) }, () => answer(left));
  const ended = await Promise.allSettled(lanes);
  for (const lane of ended) if (lane.status === 'rejected') throw lane.reason;
}

function heldBlocks(entries: readonly BlockEntry[]): Block[] {
  const blocks = entries.map(blockOf).filter((block) => block !== undefined);
  return blocks.length > 1 ? blocks.sort((a, b) => compareBlockKeys(a.key, b.key)) : blocks;
}

function keyAndEnd(urlKey: UrlKey): Buffer {
  const writer = new RowWriter();
  writeKeyAndEnd(writer, urlKey);
  return writer.finish();
}

function keyAndTime(urlKey: UrlKey, time: EpochMs): Buffer {
  const writer = new RowWriter();
  writeKeyAndTime(writer, urlKey, clampTime(time));
  return writer.finish();
}
