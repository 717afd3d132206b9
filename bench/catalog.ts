/**
 * Compares the catalog with raw `classic-level` writing exactly the same rows, and prints its size on disk.
 *
 * A million captures of 2,000 hosts arrive in random key order, in batches of 5,000. 55 % of them have a new block, the
 * others a block chosen among all earlier blocks; every block has one alias. URLs consist of words, years and numbers,
 * and each is captured once or twice.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { seededRandom } from '../src/base/index.ts';
import {
  type Alias,
  type BlockKey,
  type Capture,
  type Catalog,
  type CommitGroup,
  type NewBlock,
  type NewCapture,
  openLevelCatalog,
} from '../src/catalog/index.ts';
import { urlKey } from '../src/url/index.ts';

const CAPTURES = 1_000_000;
const BATCH_CAPTURES = 5_000;
const RUNS = 5;
const RUN_BATCHES = 20;

export async function benchCatalog(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-bench-catalog-'));
  try {
    const crawl = new Crawl(7);
    const catalog = await openLevelCatalog(join(directory, 'catalog'));
    const fill = await fillCatalog(catalog, crawl, CAPTURES / BATCH_CAPTURES);
    await benchQuestions(catalog, crawl);
    await catalog.close();
    await compactAll(join(directory, 'catalog'));
    const reopened = await openLevelCatalog(join(directory, 'catalog'));
    const bytes = await reopened.bytes();
    await reopened.close();
    print('bytes on disk per capture', bytes / CAPTURES, 'bar <= 130');
    print('captures written per second', CAPTURES / fill);
    await benchInsert(join(directory, 'ratio'), crawl);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * Writes batches through the catalog, and the same rows through raw LevelDB into a database with the same settings. The
 * two take turns, so that other work of the machine affects both.
 */
async function benchInsert(directory: string, crawl: Crawl): Promise<void> {
  const batches = Array.from({ length: RUN_BATCHES }, () => crawl.batch(BATCH_CAPTURES));
  const first = await openLevelCatalog(join(directory, 'first'));
  for (const batch of batches) await first.commit(batch);
  await first.close();
  const rows = shuffled(await rowsOf(join(directory, 'first'), batches), 1);
  const rowsPerBatch = Math.ceil(rows.length / RUN_BATCHES);
  const ratios: number[] = [];
  const processorRatios: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    globalThis.gc?.();
    const catalog = await openLevelCatalog(join(directory, `catalog-${run}`));
    const raw = new ClassicLevel<Buffer, Buffer>(join(directory, `raw-${run}`), SETTINGS);
    await raw.open();
    const ofCatalog = { wall: 0, processor: 0 };
    const ofRaw = { wall: 0, processor: 0 };
    for (const [index, batch] of batches.entries()) {
      const some = rows.slice(index * rowsPerBatch, (index + 1) * rowsPerBatch);
      await addTime(ofCatalog, async () => void (await catalog.commit(batch)));
      await addTime(ofRaw, async () => {
        const chained = raw.batch();
        for (const [key, value] of some) chained.put(key, value);
        await chained.write();
      });
    }
    await catalog.close();
    await raw.close();
    ratios.push(ofRaw.wall / ofCatalog.wall);
    processorRatios.push(ofRaw.processor / ofCatalog.processor);
  }
  const runs = ratios.map((ratio) => ratio.toFixed(2)).join(' ');
  print('insert, ratio to raw classic-level', median(ratios), `bar >= 0.6, runs ${runs}`);
  print('the same in processor time, all threads', median(processorRatios), 'for machines that are not quiet');
}

async function benchQuestions(catalog: Catalog, crawl: Crawl): Promise<void> {
  const asked = 20;
  const digests = Array.from({ length: asked }, (_, index) => crawl.digests(500, index));
  const find = await seconds(async () => {
    for (const some of digests) await catalog.findBlocks(some);
  });
  print('findBlocks, digests per second (500 a call, half of them held)', (asked * 500) / find);
  const known = crawl.sample(2_000);
  const nearest = await seconds(async () => {
    for (const { urlKey: key, time } of known) await catalog.nearest(key, time + 1000);
  });
  print('nearest per second, one after the other', known.length / nearest);
  const nearestTogether = await seconds(async () => {
    for (let at = 0; at < known.length; at += 16) {
      await Promise.all(known.slice(at, at + 16).map(({ urlKey: key, time }) => catalog.nearest(key, time + 1000)));
    }
  });
  print('nearest per second, 16 at a time', known.length / nearestTogether);
  const found = await seconds(async () => {
    await catalog.findCaptures(known);
  });
  print('findCaptures per second (2,000 a call)', known.length / found);
  const hosts = known.slice(0, 1000).map(({ urlKey: key }) => key.slice(0, key.indexOf(')')));
  let lines = 0;
  const prefix = await seconds(async () => {
    for (const host of hosts) {
      for await (const page of catalog.captures({ keyFrom: `${host})`, keyTo: `${host}*` }, 100)) {
        lines += page.length;
        break;
      }
    }
  });
  print('prefix queries of CDX per second (100 lines each)', hosts.length / prefix, `${lines} lines`);
  let scanned = 0;
  const scan = await seconds(async () => {
    for await (const page of catalog.captures({})) {
      scanned += page.length;
      if (scanned >= 200_000) break;
    }
  });
  print('captures scanned per second', scanned / scan);
}

async function fillCatalog(catalog: Catalog, crawl: Crawl, batches: number): Promise<number> {
  let total = 0;
  for (let index = 0; index < batches; index++) {
    const batch = crawl.batch(BATCH_CAPTURES);
    total += await seconds(() => catalog.commit(batch));
  }
  return total;
}

const MIB = 1024 * 1024;

/** The settings of the catalog, so that the difference is the work of the catalog itself. */
const SETTINGS = {
  keyEncoding: 'buffer',
  valueEncoding: 'buffer',
  blockSize: 16 * 1024,
  cacheSize: 16 * MIB,
  writeBufferSize: 4 * MIB,
  maxFileSize: 2 * MIB,
  maxOpenFiles: 74,
} as const;

async function compactAll(directory: string): Promise<void> {
  const database = new ClassicLevel<Buffer, Buffer>(directory, SETTINGS);
  await database.open();
  await database.compactRange(Buffer.of(0), Buffer.of(255));
  for (const table of 'abc') {
    const bytes = await database.approximateSize(Buffer.from(table), Buffer.from([table.charCodeAt(0) + 1]));
    print(`bytes per capture in table ${table}`, bytes / CAPTURES);
  }
  await database.close();
}

/**
 * The rows that these batches wrote: all rows in the database, with block rows repeated for each time they were put.
 */
async function rowsOf(directory: string, batches: readonly CommitGroup[]): Promise<[Buffer, Buffer][]> {
  const database = new ClassicLevel<Buffer, Buffer>(directory, SETTINGS);
  await database.open();
  const rows = await database.iterator().all();
  await database.close();
  const blockRows = new Map(rows.filter(([key]) => key[0] === 0x62).map((row) => [row[0].toString('latin1', 1), row]));
  const others = rows.filter(([key]) => key[0] !== 0x62);
  const puts = batches.flatMap(({ captures = [] }) => [
    ...new Set(captures.map(({ capture }) => Buffer.from(capture.block!.digest).toString('latin1', 0, 6))),
  ]);
  return [...others, ...puts.map((prefix) => blockRows.get(prefix)!)];
}

/** Makes captures like those of a crawl of many hosts. */
class Crawl {
  readonly #random: () => number;
  readonly #words: string[];
  readonly #hosts: string[];
  readonly #held: number[] = [];
  readonly #seen: Capture[] = [];
  #made = 0;
  #offset = 0;
  #segment = 1;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#words = Array.from({ length: 3_000 }, () => this.#word());
    this.#hosts = Array.from({ length: 2_000 }, () => {
      const host = `${this.#pick(this.#words)}${this.#pick(this.#words)}.${this.#pick(['com', 'org', 'net', 'de', 'gr'])}`;
      return `${this.#random() < 0.7 ? 'https' : 'http'}://${this.#random() < 0.5 ? 'www.' : ''}${host}`;
    });
  }

  batch(captures: number): CommitGroup {
    const added: NewCapture[] = [];
    const blocks: NewBlock[] = [];
    const aliases: Alias[] = [];
    for (let index = 0; index < captures; index++) {
      const isOwn = this.#held.length === 0 || this.#random() < 0.55;
      const content = isOwn ? this.#made++ : this.#pick(this.#held);
      const capture = this.#capture(blockKey(content), isOwn);
      added.push({ capture });
      if (!isOwn) continue;
      this.#held.push(content);
      blocks.push({ key: capture.block!, size: sizeOf(content), holder: capture.place });
      aliases.push({ declared: hash('sha1', content), block: capture.block! });
    }
    return { captures: added, blocks, aliases };
  }

  /** Digests to look up, of which half are in the catalog. */
  digests(count: number, call: number): Uint8Array[] {
    return Array.from({ length: count }, (_, index) =>
      index % 2 === 0 ? blockKey(this.#pick(this.#held)).digest : hash('sha256', `absent ${call} ${index}`),
    );
  }

  sample(count: number): Capture[] {
    return Array.from({ length: count }, () => this.#pick(this.#seen));
  }

  #capture(block: BlockKey, isOwn: boolean): Capture {
    const length = isOwn ? 1_000 + Math.floor(this.#random() ** 3 * 60_000) : 600;
    this.#offset += length;
    if (this.#offset > 1e9) {
      this.#segment++;
      this.#offset = 0;
    }
    const again = this.#random() < 0.2 && this.#seen.length > 0 ? this.#pick(this.#seen) : undefined;
    const url = again?.url ?? this.#url();
    const chance = this.#random();
    const capture: Capture = {
      urlKey: again?.urlKey ?? urlKey(url),
      time: (1_600_000_000 + Math.floor(this.#random() * 150_000_000)) * 1000,
      place: { segment: this.#segment, offset: this.#offset, length },
      url,
      kind: isOwn ? 'response' : 'revisit',
      collection: 1 + Math.floor(this.#random() * 3),
      status: chance < 0.9 ? 200 : chance < 0.95 ? 404 : 301,
      mime: this.#pick(['text/html', 'text/html', 'image/jpeg', 'text/css', 'application/javascript']),
      block,
      hash: Math.floor(this.#random() * 2 ** 32),
    };
    if (this.#seen.length < 50_000) this.#seen.push(capture);
    else this.#seen[Math.floor(this.#random() * this.#seen.length)] = capture;
    return capture;
  }

  #url(): string {
    let path = `/${this.#pick(this.#words)}/${2000 + Math.floor(this.#random() * 24)}`;
    while (path.length < 32) path += `${this.#random() < 0.3 ? '/' : '-'}${this.#pick(this.#words)}`;
    if (this.#random() < 0.1) path = path.replace(/[a-z]/, (letter) => letter.toUpperCase());
    return `${this.#pick(this.#hosts)}${path}-${Math.floor(this.#random() * 10_000)}`;
  }

  #word(): string {
    let word = '';
    const syllables = 2 + Math.floor(this.#random() * 3);
    for (let index = 0; index < syllables; index++) {
      word += this.#pick([...'bdfghklmnprstvwz']) + this.#pick([...'aeiou']);
    }
    return word;
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)]!;
  }
}

function blockKey(content: number): BlockKey {
  return { digest: hash('sha256', content), overflow: 0 };
}

function sizeOf(content: number): number {
  return 500 + ((content * 7_919) % 90_000);
}

function hash(algorithm: string, content: number | string): Uint8Array {
  return createHash(algorithm).update(String(content)).digest();
}

function shuffled<Item>(items: Item[], seed: number): Item[] {
  const random = seededRandom(seed);
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [items[at], items[other]] = [items[other]!, items[at]!];
  }
  return items;
}

async function addTime(time: { wall: number; processor: number }, act: () => Promise<void>): Promise<void> {
  const before = process.cpuUsage();
  time.wall += await seconds(act);
  const { user, system } = process.cpuUsage(before);
  time.processor += (user + system) / 1e6;
}

async function seconds(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return (performance.now() - start) / 1000;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function print(what: string, value: number, note = ''): void {
  const text = value >= 1000 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
  process.stdout.write(`${what.padEnd(64)} ${text.padStart(10)}  ${note}\n`);
}
