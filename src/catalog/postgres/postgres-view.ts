/**
 * Reads a catalog on PostgreSQL. Each question is one statement, so it sees one instant even outside of a snapshot. The
 * scans (`captures`, `blocks`, `notePages`) are one statement for each page.
 *
 * Pages are found by the last row of the page before. They end early when their texts have many bytes. Outside of a
 * snapshot, a capture of the key and time of that row may be moved behind it before the next page is read, and would be
 * given twice (see `#withoutMoved`).
 */
import { assert, type EpochMs, utf8 } from '../../base/index.ts';
import { type Column, namesOf, type Query, type Row, rowSet } from '../../database/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { answersOf, nearestOf, scansFor } from '../capture-scan.ts';
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
  REFERENCES_COUNTED,
  type Segment,
  type SurplusRecord,
  type Totals,
} from '../catalog.ts';
import { ALIAS_CANDIDATES_MAX, declaredStart } from '../declared-digest.ts';
import { clampTime, sortableKey } from '../key-order.ts';
import { captureConditions } from './capture-conditions.ts';
import {
  BLOCK_COLUMNS,
  BLOCK_KEY,
  barOf,
  blockKeyOf,
  blockOf,
  bytes,
  CAPTURE_COLUMNS,
  CAPTURE_ID,
  captureOf,
  deadRecordOf,
  number,
  segmentOf,
  surplusRecordOf,
  text,
} from './rows.ts';
import { readTotals } from './running-totals.ts';
import { REFERS_TO, type Tables } from './tables.ts';

export const PAGE_SIZE = 1000;

/** The most bytes of the texts of a page, so that long URLs do not make it large. */
const PAGE_BYTES_MAX = 1024 * 1024;

/** The most captures of one moment that a scan remembers. */
const GIVEN_MAX = 10_000;

const CAPTURES = namesOf(CAPTURE_COLUMNS, 'c');
const IN_ORDER = 'c.key, c.time, c.segment, c.record_offset';

/** A scan of the captures of one moment, as a row. */
type ScanRow = { readonly question: CaptureQuestion; readonly hashes: ReadonlySet<number> | undefined };

const SCAN_COLUMNS: readonly Column<ScanRow>[] = [
  { name: 'key', type: 'bytea', of: ({ question }) => sortableKey(question.urlKey) },
  { name: 'time_from', type: 'bigint', of: ({ question }) => Math.ceil(clampTime(question.time)) },
  {
    name: 'time_to',
    type: 'bigint',
    of: ({ question: { time, timeTo = time } }) => Math.floor(clampTime(timeTo)),
  },
  { name: 'most', type: 'bigint', of: ({ question }) => question.limit ?? null },
  { name: 'has_hashes', type: 'smallint', of: ({ hashes }) => (hashes ? 1 : 0) },
];

type ScanHash = { readonly scan: number; readonly hash: number };

const HASH_COLUMNS: readonly Column<ScanHash>[] = [
  { name: 'scan', type: 'bigint', of: ({ scan }) => scan },
  { name: 'hash', type: 'integer', of: ({ hash }) => hash | 0 },
];

type PlaceQuestion = CaptureQuestion & { readonly at: NonNullable<CaptureQuestion['at']> };

const PLACE_COLUMNS: readonly Column<PlaceQuestion>[] = CAPTURE_ID.map(({ name, type, of }) => ({
  name,
  type,
  of: (question, index) => of({ ...question, place: { ...question.at, length: 0 } } as unknown as Capture, index),
}));

export class PostgresView implements CatalogView {
  readonly #query: Query;
  readonly #tables: Tables;
  readonly #blocks: string;

  constructor(query: Query, tables: Tables) {
    this.#query = query;
    this.#tables = tables;
    this.#blocks = selectBlocks(tables, REFERENCES_COUNTED);
  }

  async findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]> {
    const rows = rowSet('r', digests, [{ name: 'digest', type: 'bytea', of: (digest) => digest }], 1);
    const found = await this.#query(
      `select * from ${rows.table} ${this.#found('b.digest = r.digest')} order by r.n, b.overflow`,
      rows.values,
    );
    const blocks: Block[][] = digests.map(() => []);
    for (const row of found) blocks[number(row.n) - 1]!.push(blockOf(row));
    return blocks;
  }

  /**
   * Joins the blocks `b` to the rows `r`. OFFSET keeps the planner from reading the whole table for a few hundred rows.
   */
  #found(where: string): string {
    return `cross join lateral (${this.#blocks} where ${where} offset 0) b`;
  }

  async getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]> {
    const rows = rowSet('r', keys, BLOCK_KEY, 1);
    const found = await this.#query(
      `select * from ${rows.table} ${this.#found('b.digest = r.digest and b.overflow = r.overflow')}`,
      rows.values,
    );
    const blocks: (Block | undefined)[] = keys.map(() => undefined);
    for (const row of found) blocks[number(row.n) - 1] = blockOf(row);
    return blocks;
  }

  async countReferences(keys: readonly BlockKey[]): Promise<number[]> {
    const rows = rowSet('b', keys, BLOCK_KEY, 1);
    const found = await this.#query(
      `select (select count(*) from ${this.#tables.captures} c where ${REFERS_TO}) as count
       from ${rows.table} order by b.n`,
      rows.values,
    );
    return found.map((row) => number(row.count));
  }

  async findAliases(declared: readonly Uint8Array[]): Promise<BlockKey[][]> {
    const rows = rowSet('r', declared, [{ name: 'declared', type: 'bytea', of: declaredStart }], 1);
    const found = await this.#query(
      `select r.n, a.digest, a.overflow from ${rows.table} cross join lateral (
         select * from ${this.#tables.aliases} a where a.declared = r.declared
         order by a.digest, a.overflow limit ${ALIAS_CANDIDATES_MAX}
       ) a order by r.n, a.digest, a.overflow`,
      rows.values,
    );
    const keys: BlockKey[][] = declared.map(() => []);
    for (const row of found) keys[number(row.n) - 1]!.push(blockKeyOf(row)!);
    return keys;
  }

  async *captures(range: CaptureRange, pageSize = PAGE_SIZE): AsyncGenerator<Capture[]> {
    assert(pageSize > 0, 'a page holds at least one capture');
    const order = range.reverse ? IN_ORDER.replaceAll(/(?=,|$)/g, ' desc') : IN_ORDER;
    let next: CaptureRange | undefined = range;
    /** The captures of the last moment, as far as they were given. */
    let given: readonly Capture[] = [];
    while (next) {
      const conditions = captureConditions(next);
      if (!conditions) return;
      const bytes = `octet_length(c.long_key) + octet_length(c.key) + octet_length(c.url) + octet_length(c.mime)`;
      const page = await this.#query(
        `select * from (
           select ${CAPTURES}, sum(${bytes}) over (order by ${order}) - (${bytes}) as bytes_before
           from ${this.#tables.captures} c where ${conditions.where} order by ${order} limit ${pageSize}
         ) page where bytes_before < ${PAGE_BYTES_MAX}`,
        conditions.values,
      );
      const read = page.map(captureOf);
      const captures = await this.#withoutMoved(read, given);
      if (captures.length > 0) yield captures;
      const last = read.at(-1);
      if (last) given = [...given, ...captures].filter((capture) => isOfMoment(capture, last)).slice(-GIVEN_MAX);
      next = last && { ...range, after: last };
    }
  }

  /** The captures of a page without those that were given at places that they have left since. */
  async #withoutMoved(page: Capture[], given: readonly Capture[]): Promise<Capture[]> {
    const [one] = given;
    const suspects = one
      ? page.filter((capture) => isOfMoment(capture, one) && given.some((other) => isElsewhere(capture, other)))
      : [];
    if (suspects.length === 0) return page;
    const asked = given.filter((other) => suspects.some((capture) => isElsewhere(capture, other)));
    const now = await this.findCaptures(asked.map(({ urlKey, time, place }) => ({ urlKey, time, at: place })));
    const left = asked.filter((_, index) => now[index]!.length === 0);
    return page.filter((capture) => {
      const index = suspects.includes(capture) ? left.findIndex((other) => isElsewhere(capture, other)) : -1;
      if (index >= 0) left.splice(index, 1);
      return index < 0;
    });
  }

  async findCaptures(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]> {
    const { scans, scanOf } = scansFor<Capture>(questions);
    const placed = questions.filter((question): question is PlaceQuestion => question.at !== undefined);
    const hashes = scans.flatMap((scan, index) => [...(scan.hashes ?? [])].map((hash) => ({ scan: index + 1, hash })));
    const scanRows = rowSet('q', scans, SCAN_COLUMNS, 1);
    const hashRows = rowSet('h', hashes, HASH_COLUMNS, 1 + SCAN_COLUMNS.length);
    const placeRows = rowSet('p', placed.filter(isWhole), PLACE_COLUMNS, 1 + SCAN_COLUMNS.length + HASH_COLUMNS.length);
    const { captures } = this.#tables;
    const found = await this.#query(
      `(select q.n, ${CAPTURES} from ${scanRows.table} cross join lateral (
          select * from ${captures} c where c.key = q.key and c.time between q.time_from and q.time_to
          and (q.has_hashes = 0 or (q.n, c.hash) in (select h.scan, h.hash from ${hashRows.table}))
          order by c.time, c.segment, c.record_offset limit q.most
        ) c order by q.n, c.time, c.segment, c.record_offset)
       union all select 0, ${CAPTURES} from ${placeRows.table} cross join lateral (
         select * from ${captures} c where c.key = p.key and c.time = p.time
         and c.segment = p.segment and c.record_offset = p.record_offset offset 0
       ) c`,
      [...scanRows.values, ...hashRows.values, ...placeRows.values],
    );
    const byPlace = new Map<string, Capture>();
    for (const row of found) {
      const capture = captureOf(row);
      const scan = number(row.n);
      if (scan > 0) scans[scan - 1]!.found.push(capture);
      else byPlace.set(positionOf(capture, capture.place), capture);
    }
    const answers = new Map(scans.map((scan) => [scan, answersOf(scan, scan.found)]));
    return questions.map((question) => {
      const scan = scanOf.get(question);
      if (scan) return answers.get(scan)!(question.ofHash);
      const capture = byPlace.get(positionOf(question, question.at!));
      return capture ? [capture] : [];
    });
  }

  async capturesOf(urlKey: UrlKey): Promise<readonly Capture[] | undefined> {
    const rows = await this.#query(
      `select ${CAPTURES} from ${this.#tables.captures} c where c.key = $1::bytea
       order by ${IN_ORDER} limit ${FEW_CAPTURES + 1}`,
      [sortableKey(urlKey)],
    );
    return rows.length > FEW_CAPTURES ? undefined : rows.map(captureOf);
  }

  async nearest(urlKey: UrlKey, time: EpochMs, side: 'either' | 'notAfter' = 'either'): Promise<Capture | undefined> {
    const { captures } = this.#tables;
    const rows = await this.#query(
      `(select ${CAPTURES} from ${captures} c where c.key = $1::bytea and c.time <= $2::bigint
        order by c.time desc, c.segment desc, c.record_offset desc limit 1)
       union all (select ${CAPTURES} from ${captures} c where $3::boolean and c.key = $1::bytea
        and c.time = (select min(l.time) from ${captures} l where l.key = $1::bytea and l.time > $2::bigint)
        order by c.segment desc, c.record_offset desc limit 1)`,
      [sortableKey(urlKey), Math.floor(clampTime(time)), side === 'either'],
    );
    const inOrder = rows.map(captureOf).sort((a, b) => a.time - b.time);
    return nearestOf(inOrder, time, side);
  }

  async *blocks(pageSize = PAGE_SIZE): AsyncGenerator<Block[]> {
    assert(pageSize > 0, 'a page holds at least one block');
    let after: BlockKey | undefined;
    do {
      const rows = await this.#query(
        `${selectBlocks(this.#tables)} where $1::bytea is null or (b.digest, b.overflow) > ($1::bytea, $2::bigint)
         order by b.digest, b.overflow limit ${pageSize}`,
        [after?.digest, after?.overflow],
      );
      const page = rows.map(blockOf);
      if (page.length > 0) yield page;
      after = page.at(-1)?.key;
    } while (after);
  }

  segments(): Promise<Segment[]> {
    return this.#segments('true', []);
  }

  async segment(number: number): Promise<Segment | undefined> {
    return (await this.#segments('s.number = $1', [number]))[0];
  }

  async segmentByName(name: string): Promise<Segment | undefined> {
    return (await this.#segments('s.name = $1::bytea', [utf8(name)]))[0];
  }

  async #segments(where: string, values: readonly unknown[]): Promise<Segment[]> {
    const rows = await this.#query(`${selectSegments(this.#tables)} where ${where} order by s.number`, values);
    return rows.map(segmentOf);
  }

  async notes(prefix = ''): Promise<Record<string, string>> {
    const rows = await this.#query(
      `select name, text from ${this.#tables.notes} where ${NOTES_OF_PREFIX} order by name`,
      prefixValues(prefix),
    );
    return Object.fromEntries(rows.map(noteOf));
  }

  async *notePages(prefix: string): AsyncGenerator<[name: string, text: string][]> {
    let after: Uint8Array | undefined;
    do {
      const page = await this.#query(
        `select name, text from (
           select name, text, sum(octet_length(text)) over (order by name) - octet_length(text) as bytes_before
           from ${this.#tables.notes} where ${NOTES_OF_PREFIX} and ($3::bytea is null or name > $3::bytea)
           order by name limit ${PAGE_SIZE}
         ) page where bytes_before < ${PAGE_BYTES_MAX}`,
        [...prefixValues(prefix), after],
      );
      if (page.length > 0) yield page.map(noteOf);
      after = page.at(-1)?.name as Uint8Array | undefined;
    } while (after);
  }

  /** In the order of their digests, for a copy. */
  async *aliases(): AsyncGenerator<Alias[]> {
    let after: readonly unknown[] = ['', '', -1];
    for (;;) {
      const page = await this.#query(
        `select declared, digest, overflow from ${this.#tables.aliases}
         where (declared, digest, overflow) > ($1::bytea, $2::bytea, $3::bigint)
         order by declared, digest, overflow limit ${PAGE_SIZE}`,
        after,
      );
      const last = page.at(-1);
      if (!last) return;
      yield page.map((row) => ({ declared: bytes(row.declared), block: blockKeyOf(row)! }));
      after = [last.declared, last.digest, last.overflow];
    }
  }

  /** In the order of their bytes, for a copy. */
  async *deletedMarks(): AsyncGenerator<Mark[]> {
    let after: unknown = '';
    for (;;) {
      const page = await this.#query(
        `select mark from ${this.#tables.deleted} where mark > $1::bytea order by mark limit ${PAGE_SIZE}`,
        [after],
      );
      const last = page.at(-1);
      if (!last) return;
      yield page.map(({ mark }) => bytes(mark));
      after = last.mark;
    }
  }

  totals(): Promise<Totals> {
    return readTotals(this.#query, this.#tables);
  }

  async findDeleted(marks: readonly Mark[]): Promise<boolean[]> {
    const rows = rowSet('r', marks, [{ name: 'mark', type: 'bytea', of: (mark) => mark }], 1);
    const found = await this.#query(
      `select r.n from ${rows.table}
       cross join lateral (select from ${this.#tables.deleted} d where d.mark = r.mark offset 0) d`,
      rows.values,
    );
    return flagsOf(found, marks.length);
  }

  async findBarred(captures: readonly Pick<Capture, 'urlKey' | 'block'>[]): Promise<boolean[]> {
    const rows = rowSet('r', captures, BAR_COLUMNS, 1);
    const found = await this.#query(`select r.n from ${rows.table} where ${isBarred(this.#tables, 'r')}`, rows.values);
    return flagsOf(found, captures.length);
  }

  async bars(): Promise<Bar[]> {
    const rows = await this.#query(`select kind, value from ${this.#tables.bars} order by kind, id`);
    return rows.map(barOf);
  }

  async deadRecords(segment: number): Promise<DeadRecord[]> {
    const rows = await this.#query(`select * from ${this.#tables.dead} where segment = $1 order by record_offset`, [
      segment,
    ]);
    return rows.map(deadRecordOf);
  }

  async surplusRecords(segment: number): Promise<SurplusRecord[]> {
    const rows = await this.#query(`select * from ${this.#tables.surplus} where segment = $1 order by record_offset`, [
      segment,
    ]);
    return rows.map(surplusRecordOf);
  }
}

/** Selects blocks `b`, with the number of captures that refer to each, counted up to the given number. */
export function selectBlocks({ blocks, captures }: Tables, mostReferences?: number): string {
  const limit = mostReferences === undefined ? '' : `limit ${mostReferences}`;
  return `select ${namesOf(BLOCK_COLUMNS, 'b')}, (
    select count(*) from (select from ${captures} c where ${REFERS_TO} ${limit}) c
  ) as reference_count from ${blocks} b`;
}

/** Selects segments `s`, with the bytes of their dead records. */
export function selectSegments({ segments, dead }: Tables): string {
  return `select s.*, (
    select coalesce(sum(d.record_length), 0) from ${dead} d where d.segment = s.number
  ) as dead_bytes from ${segments} s`;
}

/** The columns that say whether a capture is barred. */
export const BAR_COLUMNS: readonly Column<Pick<Capture, 'urlKey' | 'block'>>[] = [
  { name: 'key', type: 'bytea', of: ({ urlKey }) => sortableKey(urlKey) },
  { name: 'digest', type: 'bytea', of: ({ block }) => block?.digest ?? new Uint8Array() },
];

/** A condition on rows with the columns of BAR_COLUMNS. */
export function isBarred({ bars }: Tables, rows: string): string {
  return `exists (select from ${bars} where kind = 'content' and id = ${rows}.digest)
    or exists (select from ${bars} where kind = 'url' and id = ${rows}.key)`;
}

/** No byte of UTF-8 is 0xff, so the bytes of the prefix and 0xff are after all names that begin with the prefix. */
const NOTES_OF_PREFIX = `name >= $1::bytea and name < $2::bytea`;

function prefixValues(prefix: string): Uint8Array[] {
  return [utf8(prefix), Buffer.concat([utf8(prefix), Buffer.of(0xff)])];
}

function noteOf(row: Row): [name: string, text: string] {
  return [text(row.name), text(row.text)];
}

function isOfMoment(one: Capture, other: Capture): boolean {
  return one.urlKey === other.urlKey && one.time === other.time;
}

/** Whether two captures of one moment can be the same one in different segments. */
function isElsewhere(one: Capture, other: Capture): boolean {
  if (one.place.segment === other.place.segment) return false;
  return one.hash === other.hash && one.collection === other.collection && one.url === other.url;
}

/** For each of so many rows whether its number `n` was found. */
function flagsOf(found: readonly Row[], count: number): boolean[] {
  const flags: boolean[] = new Array(count).fill(false);
  for (const row of found) flags[number(row.n) - 1] = true;
  return flags;
}

function isWhole({ time }: CaptureQuestion): boolean {
  return Number.isSafeInteger(time);
}

function positionOf(
  { urlKey, time }: Pick<Capture, 'urlKey' | 'time'>,
  { segment, offset }: NonNullable<CaptureQuestion['at']>,
): string {
  return `${segment} ${offset} ${time} ${urlKey}`;
}
