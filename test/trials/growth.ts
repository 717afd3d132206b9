/**
 * What a catalog on PostgreSQL costs as it grows: a commit of 100 captures, and a look-up of 500 digests, at several
 * sizes, with the memory of the server limited to a quarter of the indexes.
 *
 * The catalogs are filled by COPY with generated captures, of which 40 % repeat a content. `shared_buffers` is a
 * quarter of the indexes at each size. The cache of the operating system cannot be limited without rights over it, so
 * pages that the server does not have are mostly in memory: what is measured is the work of the server, and the reads
 * that a disk would have are printed beside it. With `--drop-caches`, as root, the kernel's cache is emptied before
 * each round.
 */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Random, seededRandom } from '../../src/base/index.ts';
import {
  type Block,
  type Capture,
  type CatalogContents,
  type CommitGroup,
  type CopyableCatalog,
  MemoryCatalog,
  openPostgresCatalog,
  type Segment,
} from '../../src/catalog/index.ts';
import type { Database } from '../../src/database/index.ts';
import { urlKey } from '../../src/url/index.ts';
import { PostgresServer } from '../contract/postgres-server.ts';

const PAGE = 1000;
const COMMIT_CAPTURES = 100;
const LOOKED_UP = 500;
const CONTENT_SHARE = 0.6;
const SCHEMA = 'growth';
const MIB = 2 ** 20;
const TIME = Date.UTC(2024, 0, 1);

const say = (line: string) => void process.stdout.write(`${line}\n`);

export async function tryGrowth(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      sizes: { type: 'string', default: '100000,1000000,5000000' },
      rounds: { type: 'string', default: '40' },
      'drop-caches': { type: 'boolean', default: false },
    },
  });
  const rounds = Number(values.rounds);
  let first: Costs | undefined;
  for (const size of values.sizes.split(',').map(Number)) {
    const costs = await measure(size, rounds, values['drop-caches']);
    first ??= costs;
    const ratio = (of: keyof Costs, time: keyof Cost) => (costs[of][time] / first![of][time]).toFixed(2);
    const ratios = (of: keyof Costs) => `${ratio(of, 'ms')} (processor ${ratio(of, 'processorMs')})`;
    say(`  against the first size: commit ${ratios('commit')}, look-up ${ratios('lookUp')}`);
  }
}

/** The time of the usual run, and the mean of the server's processor time. */
type Cost = { readonly ms: number; readonly processorMs: number };
type Costs = { readonly commit: Cost; readonly lookUp: Cost };

async function measure(size: number, rounds: number, dropsCaches: boolean): Promise<Costs> {
  // Filled with enough memory, then started again with little.
  const server = await PostgresServer.start(['shared_buffers=256MB', 'max_wal_size=4GB', 'autovacuum=off']);
  try {
    const filling = await openPostgresCatalog({ url: server.url, schema: SCHEMA });
    const started = performance.now();
    await filling.fill(new Generated(size));
    const fillS = (performance.now() - started) / 1000;
    const database = filling.database!;
    await database.longQuery(`vacuum (analyze) ${SCHEMA}.captures`);
    await database.longQuery(`vacuum (analyze) ${SCHEMA}.blocks`);
    const { tables, indexes } = await bytesOf(database);
    await filling.close();
    await server.stop('fast');
    const buffers = Math.max(1, Math.floor(indexes / 4 / MIB));
    await server.startAgain([`shared_buffers=${buffers}MB`, 'max_wal_size=4GB', 'autovacuum=off']);
    say(
      `${size} captures: filled in ${fillS.toFixed(1)} s (${Math.round(size / fillS)} a second), ` +
        `${((tables + indexes) / size).toFixed(0)} bytes a capture (tables ${(tables / size).toFixed(0)}, ` +
        `indexes ${(indexes / size).toFixed(0)}), shared_buffers ${buffers} MB`,
    );
    const catalog = await openPostgresCatalog({ url: server.url, schema: SCHEMA });
    try {
      return await costsOf(server, catalog, { size, rounds, dropsCaches });
    } finally {
      await catalog.close();
    }
  } finally {
    await server.dispose();
  }
}

async function costsOf(
  server: PostgresServer,
  catalog: CopyableCatalog,
  { size, rounds, dropsCaches }: { readonly size: number; readonly rounds: number; readonly dropsCaches: boolean },
): Promise<Costs> {
  const random = seededRandom(size);
  const database = catalog.database!;
  const wal = async () => {
    const [row] = await database.query('select wal_bytes::bigint as bytes, wal_fpi as images from pg_stat_wal');
    return { bytes: Number(row!.bytes), images: Number(row!.images) };
  };
  const read = async () =>
    Number(
      (
        await database.query(`select pg_stat_get_db_blocks_fetched(oid) - pg_stat_get_db_blocks_hit(oid) as pages
      from pg_database where datname = current_database()`)
      )[0]!.pages,
    );
  const pages = await read();
  await database.query('checkpoint');
  await delay(1500);
  const before = await wal();
  const phase = async (work: (round: number) => Promise<unknown>): Promise<Cost> => {
    const times: number[] = [];
    const processor = server.processorMs();
    for (let round = 0; round < rounds; round++) {
      if (dropsCaches) await writeFile('/proc/sys/vm/drop_caches', '1');
      const started = performance.now();
      await work(round);
      times.push(performance.now() - started);
    }
    return { ms: typical(times), processorMs: (server.processorMs() - processor) / rounds };
  };
  const lookUp = await phase(() =>
    catalog.findBlocks(Array.from({ length: LOOKED_UP }, () => digestOf(below(random, size * 2)))),
  );
  const commit = await phase(async (round) => {
    const { kind } = await catalog.commit(groupOf(size, round, random));
    if (kind !== 'committed') throw new Error(`the commit is ${kind}`);
  });
  await delay(1500);
  const after = await wal();
  const captures = rounds * COMMIT_CAPTURES;
  say(
    `  commit of ${COMMIT_CAPTURES} captures ${shown(commit)}, look-up of ${LOOKED_UP} digests ${shown(lookUp)} ` +
      `(of ${rounds}), ${Math.round((after.bytes - before.bytes) / captures)} bytes of WAL a capture ` +
      `(${((after.images - before.images) / captures).toFixed(2)} images of pages right after a checkpoint), ` +
      `${Math.round(((await read()) - pages) / rounds)} pages read a round`,
  );
  return { commit, lookUp };
}

function shown({ ms, processorMs }: Cost): string {
  return `${ms.toFixed(1)} ms (${processorMs.toFixed(1)} ms of the server's processor time)`;
}

/** The first quartile: what other programs on the machine take comes on top of it. */
function typical(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)]!;
}

async function bytesOf(database: Database): Promise<{ tables: number; indexes: number }> {
  const [row] = await database.query(
    `select sum(pg_table_size(oid))::bigint as tables, sum(pg_indexes_size(oid))::bigint as indexes from pg_class
     where relkind = 'r' and relnamespace = '${SCHEMA}'::regnamespace`,
  );
  return { tables: Number(row!.tables), indexes: Number(row!.indexes) };
}

/** A commit as a crawler makes it: new captures at random URLs, of which 40 % have a content that is held. */
function groupOf(size: number, round: number, random: Random): CommitGroup {
  const blocks: NonNullable<CommitGroup['blocks']>[number][] = [];
  const captures = Array.from({ length: COMMIT_CAPTURES }, (_, index) => {
    const isNew = below(random, 10) < CONTENT_SHARE * 10;
    const number = isNew
      ? size * 10 + round * COMMIT_CAPTURES + index
      : below(random, Math.floor(size * CONTENT_SHARE));
    const made = captureOf(below(random, size * 2), number, TIME + 1e9 + round);
    const place = { segment: 1000, offset: (round * COMMIT_CAPTURES + index) * 5000, length: 4900 };
    if (isNew) blocks.push({ key: made.block!, size: 20_000, holder: place });
    return { capture: { ...made, place } };
  });
  return { blocks, captures };
}

function below(random: Random, end: number): number {
  return Math.floor(random() * end);
}

function digestOf(content: number): Uint8Array {
  return new Uint8Array(createHash('sha256').update(`content ${content}`).digest());
}

function captureOf(page: number, content: number, time: number): Capture {
  const url = `https://www.site${page % 5000}.example/section-${page % 37}/article-${page}/index.html`;
  return {
    urlKey: urlKey(url),
    time,
    place: { segment: 1, offset: 0, length: 4900 },
    url,
    kind: 'response',
    collection: 1,
    status: 200,
    mime: 'text/html',
    block: { digest: digestOf(content), overflow: 0 },
    hash: page >>> 0,
  };
}

/** A catalog of this many captures, which is made while it is read. */
class Generated extends MemoryCatalog implements CatalogContents {
  readonly #size: number;

  constructor(size: number) {
    super({ clock: () => 0 });
    this.#size = size;
  }

  override async segments(): Promise<Segment[]> {
    return [];
  }

  override async *captures(): AsyncGenerator<Capture[]> {
    const contents = Math.floor(this.#size * CONTENT_SHARE);
    for (let at = 0; at < this.#size; at += PAGE)
      yield Array.from({ length: Math.min(PAGE, this.#size - at) }, (_, index) => {
        const number = at + index;
        const made = captureOf(number, number % contents, TIME + number);
        return { ...made, place: { segment: 1 + (number % 100), offset: number * 5000, length: 4900 } };
      });
  }

  override async *blocks(): AsyncGenerator<Block[]> {
    const contents = Math.floor(this.#size * CONTENT_SHARE);
    for (let at = 0; at < contents; at += PAGE)
      yield Array.from({ length: Math.min(PAGE, contents - at) }, (_, index) => {
        const holder = { segment: 1 + ((at + index) % 100), offset: (at + index) * 5000, length: 4900 };
        return { key: { digest: digestOf(at + index), overflow: 0 }, size: 20_000, holder, references: 1 };
      });
  }

  async *aliases() {}

  async *deletedMarks() {}

  async numbers() {
    return { segment: 1001, sequence: 1001, collection: 2, incarnation: 1, isAdopting: false };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
