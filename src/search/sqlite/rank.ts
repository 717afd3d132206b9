/**
 * PageRank and citation counts over the pages of the index. They use one version of each URL, the latest or the version
 * of a given time, and the links by which pages cite each other. A redirect has one link, to its target. A page without
 * links gives its rank to all pages.
 *
 * ```
 *   edges     in a file: source, number of targets, targets; 32-bit numbers
 *   memory    40 bytes per URL, independent of the number of links
 * ```
 * The mean rank is 1: a random reader meets a page of rank 10 ten times as often as an average page.
 */
import { createHash } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type EpochMs, writingFile } from '../../base/index.ts';

const DAMPING = 0.85;
const ITERATIONS_MAX = 100;
const CHUNK_NUMBERS = 256 * 1024;

export type RankOptions = {
  /** Uses the links as they were at this time; by default the latest. */
  readonly asOf?: EpochMs | undefined;
  /** The computation ends when the total change of all ranks, as a share, is at most this. */
  readonly tolerance?: number;
};

/** The temporary file for edges, next to the index. */
export function edgesFile(index: string): string {
  return `${index}-edges`;
}

export type RankReport = { readonly urls: number; readonly links: number; readonly iterations: number };

/**
 * Computes ranks and citation counts, and writes them in the open transaction. `scratch` is the path of a temporary
 * file. Also returns a digest of the result.
 */
export function rankPages(
  database: DatabaseSync,
  scratch: string,
  options: RankOptions = {},
): { report: RankReport; digest: string } {
  const nodes = loadNodes(database);
  using edges = new EdgeFile(scratch);
  const inlinks = collectEdges(database, nodes, edges, options.asOf);
  const { ranks, iterations } = iterate(nodes.ids.length, edges, options.tolerance ?? 1e-6);
  const put = database.prepare('UPDATE urls SET inlinks = ?, rank = ? WHERE id = ?');
  for (let at = 0; at < nodes.ids.length; at++) put.run(inlinks[at]!, ranks[at]!, nodes.ids[at]!);
  const digest = createHash('sha256').update(nodes.hashes).update(inlinks).update(ranks).digest('hex').slice(0, 32);
  return { report: { urls: nodes.ids.length, links: edges.links, iterations }, digest };
}

type Nodes = {
  /** Sorted by hash. */
  readonly ids: Float64Array;
  readonly hashes: Float64Array;
  /** The index in the arrays, by id. */
  readonly places: Int32Array;
};

function loadNodes(database: DatabaseSync): Nodes {
  const count = Number(database.prepare('SELECT count(*) AS n FROM urls').get()!.n);
  const greatest = Number(database.prepare('SELECT max(id) AS n FROM urls').get()!.n ?? 0);
  const ids = new Float64Array(count);
  const hashes = new Float64Array(count);
  const places = new Int32Array(greatest + 1).fill(-1);
  const statement = database.prepare('SELECT id, hash FROM urls ORDER BY hash');
  statement.setReturnArrays(true);
  let at = 0;
  for (const row of statement.iterate()) {
    const [id, hash] = row as unknown as [number, number];
    ids[at] = id;
    hashes[at] = hash;
    places[id] = at++;
  }
  return { ids, hashes, places };
}

const LATEST =
  'SELECT v.url, t.cited, max(v.last_time) FROM versions v LEFT JOIN citations t ON t.version = v.id GROUP BY v.url';
const AT_TIME = `SELECT v.url, t.cited, max(c.time) FROM versions v JOIN captures c ON c.version = v.id
  LEFT JOIN citations t ON t.version = v.id WHERE c.time <= ? GROUP BY v.url`;

/** Writes the edges between known pages. Returns the number of pages that cite each page. */
function collectEdges(database: DatabaseSync, nodes: Nodes, edges: EdgeFile, asOf: EpochMs | undefined): Uint32Array {
  const inlinks = new Uint32Array(nodes.ids.length);
  const statement = database.prepare(asOf === undefined ? LATEST : AT_TIME);
  statement.setReturnArrays(true);
  let found = new Uint32Array(1024);
  for (const row of asOf === undefined ? statement.iterate() : statement.iterate(asOf)) {
    const [url, packed] = row as unknown as [number, Uint8Array | null];
    if (packed === null) continue;
    const source = nodes.places[url]!;
    const targets = new Float64Array(Uint8Array.from(packed).buffer);
    if (found.length < targets.length) found = new Uint32Array(2 * targets.length);
    let count = 0;
    for (const hash of targets) {
      const target = placeOf(nodes.hashes, hash);
      if (target < 0 || target === source) continue;
      found[count++] = target;
      inlinks[target]!++;
    }
    if (count > 0) edges.put(source, found.subarray(0, count));
  }
  edges.finish();
  return inlinks;
}

function placeOf(hashes: Float64Array, hash: number): number {
  let low = 0;
  let high = hashes.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const value = hashes[middle]!;
    if (value === hash) return middle;
    if (value < hash) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function iterate(count: number, edges: EdgeFile, tolerance: number): { ranks: Float64Array; iterations: number } {
  let ranks = new Float64Array(count).fill(1);
  let next = new Float64Array(count);
  for (let iteration = 1; ; iteration++) {
    next.fill(0);
    let given = 0;
    edges.each((source, targets, from, to) => {
      const rank = ranks[source]!;
      given += rank;
      const share = rank / (to - from);
      for (let at = from; at < to; at++) next[targets[at]!]! += share;
    });
    // The rank of pages without links, and the share of random jumps, goes equally to all pages.
    const base = count === 0 ? 0 : 1 - DAMPING + (DAMPING * (count - given)) / count;
    let change = 0;
    for (let at = 0; at < count; at++) {
      const value = base + DAMPING * next[at]!;
      change += Math.abs(value - ranks[at]!);
      next[at] = value;
    }
    [ranks, next] = [next, ranks];
    if (change <= tolerance * count || iteration >= ITERATIONS_MAX) return { ranks, iterations: iteration };
  }
}

/** Edges on disk. Each iteration reads them from start to end. */
class EdgeFile {
  links = 0;
  readonly #path: string;
  readonly #file: number;
  readonly #chunk = new Uint32Array(CHUNK_NUMBERS);
  #filled = 0;
  #bytes = 0;

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, 'w+');
    ftruncateSync(this.#file, 0);
  }

  /**
   * Adds the edges of a source. Targets beyond the size of a chunk are dropped, because a source cannot span two
   * chunks.
   */
  put(source: number, targets: Uint32Array): void {
    const some = targets.length > CHUNK_NUMBERS - 2 ? targets.subarray(0, CHUNK_NUMBERS - 2) : targets;
    if (this.#filled + some.length + 2 > CHUNK_NUMBERS) this.finish();
    this.#chunk[this.#filled] = source;
    this.#chunk[this.#filled + 1] = some.length;
    this.#chunk.set(some, this.#filled + 2);
    this.#filled += some.length + 2;
    this.links += some.length;
  }

  /** Writes the current chunk. All chunks have the same size: a chunk is filled up with zeros, which mark its end. */
  finish(): void {
    if (this.#filled === 0) return;
    this.#chunk.fill(0, this.#filled);
    const { byteLength } = this.#chunk;
    writingFile(this.#path, () => {
      for (let at = 0; at < byteLength; )
        at += writeSync(this.#file, this.#chunk, at, byteLength - at, this.#bytes + at);
    });
    this.#bytes += byteLength;
    this.#filled = 0;
  }

  each(take: (source: number, targets: Uint32Array, from: number, to: number) => void): void {
    for (let at = 0; at < this.#bytes; at += this.#chunk.byteLength) {
      readSync(this.#file, this.#chunk, 0, this.#chunk.byteLength, at);
      let position = 0;
      while (position + 1 < CHUNK_NUMBERS && this.#chunk[position + 1]! > 0) {
        const from = position + 2;
        const to = from + this.#chunk[position + 1]!;
        take(this.#chunk[position]!, this.#chunk, from, to);
        position = to;
      }
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
    unlinkSync(this.#path);
  }
}
