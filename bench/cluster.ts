/**
 * An archive on PostgreSQL and a volume server, against one on LevelDB and a directory: stores by one and by two
 * processes, reads, and lines of the index. All in alternating turns; medians. Also the longest wait for a lock.
 *
 *     npm run bench -- cluster [captures] [turns]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { createArchive } from '../src/archive/index.ts';
import { SHORT_TIMES, TestCluster } from '../test/cluster/cluster-sample.ts';
import { median, print } from './measure.ts';

type Measured = { readonly wallMs: number; readonly cpuMs: number };

async function child(...args: readonly string[]): Promise<Measured> {
  const program = join(import.meta.dirname, 'cluster-child.ts');
  const started = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = await Promise.all([text(started.stdout), once(started, 'close')]);
  return JSON.parse(output) as Measured;
}

/** Processes that do the same at the same time. */
async function together(directories: readonly string[], work: string, count: number): Promise<Measured> {
  const share = Math.floor(count / directories.length);
  const parts = await Promise.all(
    directories.map((directory, index) => child(directory, work, String(index * share), String(share))),
  );
  return {
    wallMs: Math.max(...parts.map(({ wallMs }) => wallMs)),
    cpuMs: parts.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  };
}

export async function benchCluster([countText = '10000', turnsText = '5']: readonly string[]): Promise<void> {
  const count = Number(countText);
  await using cluster = await TestCluster.start();
  const root = await mkdtemp(join(tmpdir(), 'pinakes-bench-'));
  const samples = new Map<string, Measured[]>();
  const note = (name: string, measured: Measured) => samples.set(name, [...(samples.get(name) ?? []), measured]);
  const locks = await LockWatch.start(cluster.postgres.url);
  for (let turn = 0; turn < Number(turnsText); turn++) {
    const level = join(root, `level-${turn}`);
    await createArchive(level, {});
    note('store, LevelDB', await together([level], 'store', count));
    note('read, LevelDB', await together([level], 'read', count / 4));
    note('index, LevelDB', await together([level], 'index', count));
    for (const writers of [1, 2]) {
      const { catalog, archive } = await cluster.archive({ clusterTimes: { ...SHORT_TIMES, leaseLifeMs: 60_000 } });
      await archive.close();
      const machines = [];
      for (let index = 0; index < writers; index++) machines.push(await cluster.machine(catalog));
      locks.isWatching = writers === 2;
      note(`store, cluster, ${writers}`, await together(machines, 'store', count));
      locks.isWatching = false;
      if (writers === 1) {
        note('read, cluster', await together(machines, 'read', count / 4));
        note('index, cluster', await together(machines, 'index', count));
      }
    }
  }
  await locks.end();
  await rm(root, { recursive: true, force: true });
  const of = (name: string) => samples.get(name)!;
  const middle = (name: string, key: keyof Measured) => median(of(name).map((one) => one[key]));
  for (const [name, runs] of samples) {
    const amount = name.startsWith('read') ? count / 4 : count;
    const rate = (1000 * amount) / median(runs.map(({ wallMs }) => wallMs));
    print(
      `${name}: ${Math.round(rate)}/s, ${(median(runs.map(({ cpuMs }) => cpuMs)) / amount).toFixed(3)} ms of processor each`,
    );
  }
  const against = (one: string, other: string, key: keyof Measured) =>
    (middle(other, key) / middle(one, key)).toFixed(2);
  print(
    `stores a second, cluster against LevelDB: ${against('store, cluster, 1', 'store, LevelDB', 'wallMs')} (processor ${against('store, cluster, 1', 'store, LevelDB', 'cpuMs')})`,
  );
  print(
    `processor time a store, two writers against one: ${(middle('store, cluster, 2', 'cpuMs') / middle('store, cluster, 1', 'cpuMs')).toFixed(2)}`,
  );
  print(`reads a second, cluster against LevelDB: ${against('read, cluster', 'read, LevelDB', 'wallMs')}`);
  print(
    `lines of the index a second, cluster against LevelDB: ${against('index, cluster', 'index, LevelDB', 'wallMs')}`,
  );
  print(`longest wait for a lock with two writers: ${locks.longestMs.toFixed(0)} ms (watched every ${WATCH_MS} ms)`);
}

const WATCH_MS = 5;

/** Watches how long sessions wait for locks. */
class LockWatch {
  isWatching = false;
  longestMs = 0;
  readonly #client: pg.Client;
  readonly #ended: Promise<void>;
  #isOver = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    this.#ended = this.#watch();
  }

  static async start(url: string): Promise<LockWatch> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return new LockWatch(client);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
    await this.#client.end();
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      if (this.isWatching) {
        const { rows } = await this.#client.query(
          `select coalesce(max(extract(epoch from clock_timestamp() - waitstart)), 0) * 1000 as ms
           from pg_locks where not granted`,
        );
        this.longestMs = Math.max(this.longestMs, Number(rows[0].ms));
      }
      await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
    }
  }
}
