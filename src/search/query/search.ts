/**
 * Searches the index. All statements of a search run in one transaction, so its results come from one state of the
 * index. A batch that is written during a search is seen by the next search (WebBase's consistency of indexes).
 */
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type EpochMs, PinakesError, toHex } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { unpackText } from '../packed-text.ts';
import { damagedIndex, indexError, openForReading, SEARCH_FILE } from '../sqlite/database.ts';
import { hashOfKey } from '../url-hash.ts';
import { CANDIDATES_MAX, type Candidate, type CandidateQuery, findCandidates, sampleCandidates } from './candidates.ts';
import { facetsOf } from './facets.ts';
import { LinkGraph, type LinkList, type LinkOptions } from './link-graph.ts';
import { formatPageToken, parsePageToken, searchDigest } from './page-token.ts';
import { type Query, type QueryProblem, wordsOf } from './query.ts';
import { parseQuery } from './query-parser.ts';
import {
  allOf,
  type Condition,
  isFiltered,
  matchingCaptures,
  planQuery,
  type QueryPlan,
  type Value,
} from './query-plan.ts';
import type { SearchOptions, SearchPage, SearchResult } from './search-result.ts';
import { snippetOf } from './snippet.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 500;
/** Results up to this number are always counted exactly. */
const EXACT_COUNT_MAX = 1000;
/** Words are common if at least this many contents have them. */
const COMMON_MIN = 20_000;
/** The maximum length of a listing. Clients that need all results use a stream. */
const SHOWN_MAX = 2000;
/** If at least this many contents have a common word in title or headings, only these contents are searched. */
const PROMINENT_MIN = 500;
/** The number of counts that are cached until the index changes. */
const COUNTS_MAX = 10_000;

/** Increases with every change of the index. */
const BATCH = "SELECT value AS n FROM state WHERE name = 'batch'";

/** Opens the index of an archive for reading. Another process may write it meanwhile. */
export function openSearch(directory: string): Search {
  return new Search(openForReading(join(directory, SEARCH_FILE)));
}

export type IndexStatus = {
  readonly batch: number;
  readonly documents: number;
  readonly urls: number;
  readonly captures: number;
  readonly isRanked: boolean;
};

export type Appearances = {
  /** The number of captures of the URL, and of captures in which the words appear. */
  readonly captures: number;
  readonly found: number;
  readonly first?: number;
  readonly last?: number;
  /** The spans of time in which all captures have the words, in order. */
  readonly spans: readonly { readonly from: number; readonly to: number; readonly captures: number }[];
};

export class Search {
  readonly #database: DatabaseSync;
  readonly #graph: LinkGraph;
  /** The number of contents by FTS5 expression, in the state of the index that was searched last. */
  readonly #counts = new Map<string, number>();
  #countedBatch = -1;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#graph = new LinkGraph(database);
  }

  async search(text: string, options: SearchOptions = {}): Promise<SearchPage> {
    const query = this.#parsed(text, options);
    return this.#inTransaction(() => this.#search(text, query, options));
  }

  #parsed(text: string, { asOf }: SearchOptions): Query {
    const parsed = parseQuery(text);
    if ('problem' in parsed) throw queryError(text, parsed.problem);
    if (asOf === undefined) return parsed.query;
    const bound: Query = { kind: 'time', to: asOf };
    const parts = parsed.query.kind === 'and' ? parsed.query.queries : [parsed.query];
    return { kind: 'and', queries: [...parts, bound] };
  }

  #inTransaction<T>(work: () => T): T {
    try {
      this.#database.exec('BEGIN');
      const answer = work();
      this.#database.exec('COMMIT');
      return answer;
    } catch (error) {
      // An error of a damaged file has already ended the transaction.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw indexError(error);
    }
  }

  #search(text: string, query: Query, options: SearchOptions): SearchPage {
    const { sort = 'relevance', group = 'url' } = options;
    const limit = Math.max(1, Math.min(LIMIT_MAX, Math.floor(options.limit ?? LIMIT_DEFAULT)));
    const digest = searchDigest([text.trim(), sort, group, options.asOf ?? null]);
    const token = options.after === undefined ? undefined : parsePageToken(options.after, digest);
    const batch = token?.batch ?? this.#number(BATCH);
    const level = group === 'capture' ? 'capture' : 'version';
    const plan = planQuery(query, level, this.#graph);
    const shown = new Set(token?.shown);
    const request = { plan, group, sort, ...(token && { batch }) };
    const found = this.#groups(request, options.facets === true, shown.size + limit);
    const { groups, isTotalExact } = found;
    const picked: Group[] = [];
    for (const one of groups.values()) {
      if (picked.length === limit) break;
      if (!shown.has(one.id)) picked.push(one);
    }
    const words = wordsOf(query);
    const items = picked.map((one) => this.#resultOf(one, plan, words));
    for (const one of picked) shown.add(one.id);
    const isOver = picked.length < limit || shown.size >= (isTotalExact ? Math.min(groups.size, SHOWN_MAX) : SHOWN_MAX);
    return {
      items,
      ...(isOver ? {} : { next: formatPageToken(digest, { batch, shown }) }),
      total: isTotalExact ? groups.size : this.#roughTotal(plan, groups.size),
      isTotalExact,
      ...(options.facets === true &&
        facetsOf(
          this.#database,
          [...(found.facetSample ?? groups).values()].map(({ best }) => best),
          plan,
        )),
      batch,
    };
  }

  /**
   * The matching results, by URL or capture. If counting all would take long, reads only enough of them to fill the
   * page.
   */
  #groups(
    request: Omit<CandidateQuery, 'limit' | 'matches'>,
    isCounted: boolean,
    needed: number,
  ): { groups: Map<number, Group>; isTotalExact: boolean; facetSample?: Map<number, Group> } {
    const isByCapture = request.group === 'capture';
    const { plan } = request;
    const count = plan.match === undefined ? COMMON_MIN : this.#count(plan.match);
    const limitOfAll = isCounted || count < EXACT_COUNT_MAX ? CANDIDATES_MAX : Math.max(EXACT_COUNT_MAX, 2 * needed);
    let prominent = count < COMMON_MIN ? undefined : this.#prominentPlan(request);
    let limit = prominent === undefined ? limitOfAll : Math.max(EXACT_COUNT_MAX, 2 * needed);
    for (;;) {
      const found = findCandidates(this.#database, {
        ...request,
        plan: prominent ?? plan,
        limit: limit + 1,
        matches: count,
      });
      const isAll = found.length <= limit;
      const groups = grouped(isAll ? found : found.slice(0, limit), isByCapture);
      // The contents that were found may be versions of few pages.
      if (prominent !== undefined && isAll && groups.size < needed) {
        prominent = undefined;
        limit = limitOfAll;
        continue;
      }
      const isTotalExact = isAll && prominent === undefined;
      if (isAll || groups.size >= needed || limit >= CANDIDATES_MAX) {
        if (prominent === undefined || !isCounted) return { groups, isTotalExact };
        // The first results are not typical of all results, so the facets need a sample.
        return {
          groups,
          isTotalExact,
          facetSample: grouped(sampleCandidates(this.#database, { ...request, matches: count }), false),
        };
      }
      limit = Math.min(CANDIDATES_MAX, 4 * limit);
    }
  }

  /**
   * A narrower plan for common words. Their frequency says little about a page, and ranking all pages with them takes
   * long. If PROMINENT_MIN contents have the words in title or headings, only these are ranked; they would usually come
   * first anyway. If COMMON_MIN contents have the words there, only contents with the words in the title are ranked.
   * For several words it is enough that the rarest one is in title or headings. The threshold does not depend on the
   * page of the listing, so the order is the same on all of its pages.
   */
  #prominentPlan({ plan, sort, group }: Omit<CandidateQuery, 'limit' | 'matches'>): QueryPlan | undefined {
    if (plan.match === undefined || isFiltered(plan) || sort !== 'relevance' || group === 'capture') return undefined;
    const isEnough = (match: string) => this.#countUpTo(match, PROMINENT_MIN) >= PROMINENT_MIN;
    const match = inTitleOrHeadings(plan.match);
    if (isEnough(match)) {
      const inTitle = `title : (${plan.match})`;
      const isTooMuch = this.#count(match) >= COMMON_MIN && isEnough(inTitle);
      return { ...plan, match: isTooMuch ? inTitle : match };
    }
    const parts = plan.matchParts;
    if (parts.length < 2) return undefined;
    const counts = parts.map((part) => this.#count(part));
    const rarest = counts.indexOf(Math.min(...counts));
    const withRarest = parts.map((part, at) => (at === rarest ? inTitleOrHeadings(part) : `(${part})`)).join(' AND ');
    return isEnough(withRarest) ? { ...plan, match: withRarest } : undefined;
  }

  #countUpTo(match: string, most: number): number {
    return this.#number(`SELECT count(*) AS n FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${most})`, match);
  }

  /**
   * The number of contents that match. It is cached, because every page of a listing needs it, and searches repeat
   * words.
   */
  #count(match: string): number {
    const batch = this.#number(BATCH);
    if (batch !== this.#countedBatch || this.#counts.size >= COUNTS_MAX) this.#counts.clear();
    this.#countedBatch = batch;
    const known = this.#counts.get(match);
    if (known !== undefined) return known;
    const count = this.#number('SELECT count(*) AS n FROM words WHERE words MATCH ?', match);
    this.#counts.set(match, count);
    return count;
  }

  #number(sql: string, ...values: (string | number)[]): number {
    return Number(this.#database.prepare(sql).get(...values)?.n ?? 0);
  }

  #roughTotal(plan: QueryPlan, least: number): number {
    if (isFiltered(plan)) return least;
    if (plan.match === undefined)
      return this.#number("SELECT count(*) AS n FROM versions JOIN documents d ON d.id = document WHERE kind = 'page'");
    return this.#count(plan.match);
  }

  #resultOf({ best, versions, captures }: Group, plan: QueryPlan, words: readonly string[]): SearchResult {
    const sql = `SELECT d.title, t.description, d.mime, d.language, d.bytes, d.digest, u.url, u.inlinks, u.rank, v.url AS page, v.captures, v.first_time, v.last_time, t.body
      FROM versions v JOIN documents d ON d.id = v.document JOIN urls u ON u.id = v.url LEFT JOIN texts t ON t.document = d.id WHERE v.id = ?`;
    const row = this.#database.prepare(sql).get(best.version);
    if (!row) throw damagedIndex('a version has no content or no URL');
    const text = row.body === null ? '' : unpackText(row.body as Uint8Array);
    const snippet = snippetOf(text === '' ? String(row.description) : text, words);
    const capture = this.#captureOf(best, plan);
    return {
      url: String(row.url),
      time: best.time,
      title: String(row.title),
      snippet: snippet.text,
      marks: snippet.marks,
      score: best.score,
      ...capture,
      mime: String(row.mime),
      language: String(row.language),
      bytes: Number(row.bytes),
      digest: `sha256:${toHex(row.digest as Uint8Array)}`,
      inlinks: Number(row.inlinks),
      rank: Number(row.rank),
      versions: versions.size,
      ...(captures > 0
        ? { captures, first: Number(row.first_time), last: Number(row.last_time) }
        : this.#historyOf(Number(row.page))),
    };
  }

  /** The number of captures of a page, with any content, and their first and last time. */
  #historyOf(url: number): Pick<SearchResult, 'captures' | 'first' | 'last'> {
    const sql = `SELECT sum(captures) AS captures, min(first_time) AS first, max(last_time) AS last FROM versions WHERE url = ?`;
    const { captures, first, last } = this.#database.prepare(sql).get(url)!;
    return { captures: Number(captures), first: Number(first), last: Number(last) };
  }

  #captureOf({ version, time, hash, collection }: Candidate, plan: QueryPlan): { status: number; collection: string } {
    const select = (from: string, where: string, values: readonly Value[]) =>
      this.#database
        .prepare(
          `SELECT c.status, o.name FROM ${from} JOIN collections o ON o.id = c.collection
          WHERE c.version = ? AND c.time = ? AND (${where}) ORDER BY c.hash LIMIT 2`,
        )
        .all(version, time, ...values);
    let found =
      collection === 0
        ? select('captures c', '1', [])
        : select('captures c', 'c.hash = ? AND c.collection = ?', [hash, collection]);
    // If only one capture has this time, it must match. Otherwise the condition is tested again, which can be slow.
    if (found.length > 1) {
      const { from, sql, values } = matchingCaptures(plan);
      found = select(from, sql, values);
    }
    const [row] = found;
    return { status: Number(row?.status ?? 0), collection: String(row?.name ?? '') };
  }

  /** The links to or from a URL. */
  async links(url: string, options: LinkOptions = {}): Promise<LinkList> {
    return this.#inTransaction(() => this.#graph.links(url, options));
  }

  /** The times at which words or a phrase appeared in the captures of a page: first, last, and the spans between. */
  async appearances(key: UrlKey, text: string): Promise<Appearances> {
    const query = this.#parsed(text, {});
    return this.#inTransaction(() => {
      const { match, where, captures } = planQuery({ kind: 'and', queries: [query] }, 'capture', this.#graph);
      const hasWords = 'd.id IN (SELECT rowid FROM words WHERE words MATCH ?)';
      const words: Condition[] = match === undefined ? [] : [{ sql: hasWords, values: [match] }];
      const { sql: fits, values } = allOf([...words, where, captures].filter(({ sql }) => sql !== ''));
      const sql = `SELECT c.time, ${fits || '1'} AS fits FROM urls u JOIN versions v ON v.url = u.id
        JOIN documents d ON d.id = v.document JOIN captures c ON c.version = v.id WHERE u.key = ? AND d.kind = 'page' ORDER BY c.time`;
      return appearancesOf(
        this.#database.prepare(sql).iterate(...values, key) as Iterable<{ time: number; fits: number }>,
      );
    });
  }

  status(): IndexStatus {
    return this.#inTransaction(() => ({
      batch: this.#number(BATCH),
      documents: this.#number("SELECT count(*) AS n FROM documents WHERE kind = 'page'"),
      urls: this.#number('SELECT count(*) AS n FROM urls'),
      captures: this.#number(
        "SELECT sum(captures) AS n FROM versions JOIN documents d ON d.id = document WHERE kind = 'page'",
      ),
      isRanked: this.#number("SELECT count(*) AS n FROM state WHERE name = 'ranked'") > 0,
    }));
  }

  /** The time up to which the index has all captures; undefined if it never caught up with the archive. */
  wholeUntil(): EpochMs | undefined {
    const time = this.#number("SELECT value AS n FROM state WHERE name = 'whole'");
    return time === 0 ? undefined : time;
  }

  /** The names of all collections that the index has ever seen. */
  collections(): string[] {
    const names = this.#inTransaction(() => this.#database.prepare('SELECT name FROM collections ORDER BY name').all());
    return names.map(({ name }) => String(name));
  }

  close(): void {
    this.#database.close();
  }
}

/** Limits an FTS5 expression to title and headings. */
function inTitleOrHeadings(match: string): string {
  return `{title headings} : (${match})`;
}

type Group = { readonly id: number; readonly best: Candidate; readonly versions: Set<number>; captures: number };

/**
 * Groups candidates by URL, in the order of their best candidates. In a search over captures each candidate is a group.
 */
function grouped(candidates: readonly Candidate[], isByCapture: boolean): Map<number, Group> {
  const groups = new Map<number, Group>();
  for (const candidate of candidates) {
    const id = isByCapture ? captureNumber(candidate) : candidate.url;
    const group = groups.get(id);
    if (group) group.versions.add(candidate.version);
    else groups.set(id, { id, best: candidate, versions: new Set([candidate.version]), captures: isByCapture ? 1 : 0 });
  }
  return groups;
}

/** A stable number that identifies a capture. */
function captureNumber({ version, time, hash, collection }: Candidate): number {
  return hashOfKey(`${version} ${time} ${hash} ${collection}` as UrlKey);
}

function appearancesOf(rows: Iterable<{ time: number; fits: number }>): Appearances {
  const spans: { from: number; to: number; captures: number }[] = [];
  let captures = 0;
  let found = 0;
  let isInSpan = false;
  for (const { time, fits } of rows) {
    captures++;
    const last = spans.at(-1);
    if (fits === 0) isInSpan = false;
    else {
      found++;
      if (isInSpan && last) {
        last.to = time;
        last.captures++;
      } else spans.push({ from: time, to: time, captures: 1 });
      isInSpan = true;
    }
  }
  const [first, last] = [spans[0], spans.at(-1)];
  return { captures, found, ...(first && { first: first.from }), ...(last && { last: last.to }), spans };
}

/** The error for a query with a syntax error, with the place marked. */
export function queryError(text: string, { at, length, message }: QueryProblem): PinakesError {
  const marked = `${text.slice(0, at)}\u00bb${text.slice(at, at + length)}\u00ab${text.slice(at + length)}`;
  return new PinakesError('BAD_QUERY', { where: marked, detail: message });
}
