/**
 * A cluster whose machines fail: writers and readers as processes of their own, over one PostgreSQL and one volume
 * server, each behind a proxy. Events, one at a time:
 *
 * - a writer or a reader is killed and begun again
 * - a writer is stopped for longer than a lease, and goes on
 * - PostgreSQL, or the volume server, is ended at once and started again
 * - answers of PostgreSQL are lost; answers of the volume server are lost; PUTs arrive late, or twice
 * - the catalog is rebuilt, once, in the middle
 *
 * Then: everything acknowledged is there, what was deleted is gone, contents are there once after compaction, counts
 * are exact, `verify` finds nothing, and a rebuild gives the same index.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { constants, gunzipSync } from 'node:zlib';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { PinakesError, type Random, seededIds, seededRandom } from '../../src/base/index.ts';
import { allCaptures } from '../archive/trial-archive.ts';
import { type Fault, FaultProxy } from '../contract/fault-proxy.ts';
import { PostgresServer } from '../contract/postgres-server.ts';
import { startVolumeServerProcess, type VolumeServerProcess } from '../volume-server/volume-server-process.ts';
import { CuttingProxy } from './cutting-proxy.ts';
import { contentName, isDeleted, isTakenDown, numberOf, urlOf } from './trial-capture.ts';

const WRITERS = 4;
const READERS = 2;
const TIMES = { leaseLifeMs: 3000, graceMs: 4000, tickMs: 250 } as const;
/** Readers are asked for a capture this long after it was acknowledged. */
const VISIBLE_MS = 1000;
const ASKED_EVERY = 7;

export type ClusterTrialOptions = { readonly captures: number; readonly events: number; readonly seed: number };

export type ClusterTrialReport = {
  acknowledged: number;
  deleted: number;
  seen: number;
  readonly events: Record<string, number>;
};

class Machine {
  readonly directory: string;
  child: ChildProcess | undefined;
  isEnded = false;

  constructor(directory: string) {
    this.directory = directory;
  }
}

export class ClusterTrial {
  readonly #options: ClusterTrialOptions;
  readonly #random: Random;
  readonly #tell: (text: string) => void;
  readonly #postgres: PostgresServer;
  readonly #cutting: CuttingProxy;
  readonly #faults: FaultProxy;
  readonly #root: string;
  #volumes: VolumeServerProcess;
  readonly #writers: Machine[] = [];
  readonly #readers: Machine[] = [];
  readonly #put = new Set<number>();
  readonly #begun = new Set<number>();
  readonly #removed = new Set<number>();
  readonly #wrong: string[] = [];
  readonly #errors: string[] = [];
  readonly report: ClusterTrialReport = { acknowledged: 0, deleted: 0, seen: 0, events: {} };

  private constructor(
    options: ClusterTrialOptions,
    tell: (text: string) => void,
    parts: {
      postgres: PostgresServer;
      cutting: CuttingProxy;
      faults: FaultProxy;
      volumes: VolumeServerProcess;
      root: string;
    },
  ) {
    this.#options = options;
    this.#tell = tell;
    this.#random = seededRandom(options.seed);
    this.#postgres = parts.postgres;
    this.#cutting = parts.cutting;
    this.#faults = parts.faults;
    this.#volumes = parts.volumes;
    this.#root = parts.root;
  }

  static async run(options: ClusterTrialOptions, tell: (text: string) => void = () => {}): Promise<ClusterTrialReport> {
    const [postgres, volumes, root] = await Promise.all([
      PostgresServer.start(),
      startVolumeServerProcess(),
      mkdtemp(join(tmpdir(), 'pinakes-cluster-trial-')),
    ]);
    const cutting = await CuttingProxy.start(Number(new URL(postgres.url).port));
    const faults = await FaultProxy.start(volumes.endpoint);
    const { accessKeyId, secretAccessKey } = volumes;
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
    const trial = new ClusterTrial(options, tell, { postgres, cutting, faults, volumes, root });
    try {
      await trial.#run();
      return trial.report;
    } catch (cause) {
      const last = trial.#errors.slice(process.env.TRIAL_DEBUG ? -5000 : -20).join('\n');
      throw new Error(`seed ${options.seed}, ${JSON.stringify(trial.report)}\n${last}`, { cause });
    } finally {
      await trial.#end();
    }
  }

  async #run(): Promise<void> {
    const catalog = `${this.#postgres.url.replace(/:\d+\//, `:${this.#cutting.port}/`)}?schema=trial`;
    for (let index = 0; index < WRITERS + READERS; index++) {
      const directory = join(this.#root, `machine-${index}`);
      await createArchive(directory, {
        name: 'trial',
        policies: { segmentBytesMax: 2_000_000 },
        catalog: { address: catalog, newId: seededIds(seededRandom(this.#options.seed + index)) },
      });
      (index < WRITERS ? this.#writers : this.#readers).push(new Machine(directory));
    }
    const first = await this.#open(this.#writers[0]!);
    await first.addVolume({
      name: 'far',
      path: `s3://${this.#volumes.bucket}/trial`,
      endpoint: this.#faults.endpoint,
      region: 'us-east-1',
    });
    await first.close();
    for (const index of this.#writers.keys()) this.#startWriter(index);
    for (const machine of this.#readers) this.#startReader(machine);
    await this.#happen();
    while (this.#writers.some(({ isEnded }) => !isEnded)) {
      await delay(200);
      assert.deepEqual(this.#wrong, []);
    }
    await delay(2 * VISIBLE_MS);
    assert.deepEqual(this.#wrong, []);
    await this.#check();
  }

  /** Events are spread over the captures, so that each meets writers at work. */
  async #happen(): Promise<void> {
    const { events, captures } = this.#options;
    for (let event = 0; event < events; event++) {
      const due = Math.floor(((event + 0.5) / events) * captures);
      while (this.#put.size < due && this.#writers.some(({ isEnded }) => !isEnded)) {
        await delay(50);
        assert.deepEqual(this.#wrong, []);
      }
      const isMiddle = event === Math.floor(events / 2);
      const kind = isMiddle ? 'rebuild' : EVENTS[Math.floor(this.#random() * EVENTS.length)]!;
      this.report.events[kind] = (this.report.events[kind] ?? 0) + 1;
      this.#tell(`event ${event}: ${kind}, ${this.#put.size} stored, ${this.report.seen} seen`);
      await this.#cause(kind);
    }
    await this.#faults.release();
    this.#faults.clear();
  }

  async #cause(kind: (typeof EVENTS)[number] | 'rebuild'): Promise<void> {
    const index = Math.floor(this.#random() * WRITERS);
    const writer = this.#writers[index]!;
    switch (kind) {
      case 'writer killed':
        writer.child?.kill('SIGKILL');
        return;
      case 'writer stopped':
        writer.child?.kill('SIGSTOP');
        await delay(TIMES.leaseLifeMs * 1.7);
        writer.child?.kill('SIGCONT');
        return;
      case 'reader killed':
        this.#readers[index % READERS]!.child?.kill('SIGKILL');
        return;
      case 'database killed':
        await this.#postgres.stop('immediate');
        await delay(300);
        await this.#postgres.startAgain();
        return;
      case 'database silent':
        this.#cutting.loseAnswers(1 + Math.floor(this.#random() * 6));
        return;
      case 'volume killed':
        await this.#volumes.kill();
        await delay(300);
        this.#volumes = await this.#volumes.restart();
        this.#faults.retarget(this.#volumes.endpoint);
        return;
      case 'volume faults': {
        await this.#faults.release();
        const chosen = VOLUME_FAULTS[Math.floor(this.#random() * VOLUME_FAULTS.length)]!;
        let left = 5;
        this.#faults.setFaults(({ method }) => (method === 'PUT' && left-- > 0 ? chosen : undefined));
        return;
      }
      case 'rebuild':
        await this.#rebuild();
    }
  }

  async #rebuild(): Promise<void> {
    for (;;) {
      try {
        const archive = await this.#open(this.#readers[0]!);
        try {
          await archive.rebuild();
          return;
        } finally {
          await archive.close();
        }
      } catch (error) {
        if (!(error instanceof PinakesError)) throw error;
        this.#errors.push(`rebuild: ${error.code} ${error.message}`);
        await delay(500);
      }
    }
  }

  #startWriter(index: number): void {
    const machine = this.#writers[index]!;
    let first = index;
    while (this.#isDone(first)) first += WRITERS;
    const { captures } = this.#options;
    const child = this.#spawn('storing-child.ts', [
      machine.directory,
      ...[index, WRITERS, first, captures].map(String),
      JSON.stringify(TIMES),
    ]);
    machine.child = child;
    createInterface(child.stdout!).on('line', (line) => this.#take(machine, line));
    child.once('close', (code) => {
      if (machine.child !== child || machine.isEnded) return;
      if (code !== null) this.#wrong.push(`writer ${index} ended by itself: ${this.#errors.slice(-5).join('\n')}`);
      else this.#startWriter(index);
    });
  }

  #isDone(number: number): boolean {
    const mustGo = isDeleted(number) || isTakenDown(number);
    return this.#put.has(number) && (!mustGo || this.#removed.has(number));
  }

  #take(machine: Machine, line: string): void {
    // A kill can cut off a line.
    const [, step, kind, text] = /^(begin|done) (put|remove) (\d+)$/.exec(line) ?? [];
    if (line === 'ended') machine.isEnded = true;
    if (text === undefined) return;
    const number = Number(text);
    if (step === 'begin' && kind === 'remove') this.#begun.add(number);
    if (step !== 'done') return;
    if (kind === 'remove') {
      this.#removed.add(number);
      this.report.deleted++;
    } else if (!this.#put.has(number)) {
      this.#put.add(number);
      this.report.acknowledged++;
      if (this.report.acknowledged % ASKED_EVERY === 0 && !isDeleted(number) && !isTakenDown(number))
        void delay(VISIBLE_MS).then(() => this.#ask(number));
    }
  }

  #ask(number: number): void {
    const { child } = this.#readers[number % READERS]!;
    if (child?.stdin?.writable) child.stdin.write(`${number}\n`);
  }

  #startReader(machine: Machine): void {
    const child = this.#spawn('reading-child.ts', [machine.directory, JSON.stringify(TIMES)]);
    machine.child = child;
    child.stdin!.on('error', () => {});
    createInterface(child.stdout!).on('line', (line) => {
      if (line.startsWith('wrong')) this.#wrong.push(line);
      else this.report.seen++;
    });
    child.once('close', () => {
      if (machine.child === child && !machine.isEnded) this.#startReader(machine);
    });
  }

  #spawn(program: string, args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, [join(import.meta.dirname, program), ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stderr!.on('data', (bytes: Buffer) => {
      this.#errors.push(String(bytes));
      if (this.#errors.length > 5000) this.#errors.shift();
    });
    return child;
  }

  #open(machine: Machine): Promise<Archive> {
    return openArchive(machine.directory, {
      clock: Date.now,
      newId: seededIds(seededRandom(Math.floor(this.#random() * 2 ** 31))),
      purpose: 'trial',
      clusterTimes: TIMES,
    });
  }

  async #check(): Promise<void> {
    const archive = await this.#open(this.#writers[0]!);
    try {
      // Writers that were killed are healed when their leases have ended.
      await delay(TIMES.leaseLifeMs);
      const captures = await allCaptures(archive);
      const found = new Map<number, number>();
      for (const { url } of captures) found.set(numberOf(url), (found.get(numberOf(url)) ?? 0) + 1);
      const lost = [...this.#put].filter((number) => !found.has(number) && !this.#begun.has(number));
      const back = [...this.#removed].filter((number) => found.has(number));
      const doubled = [...found].filter(([, count]) => count > 1);
      if (lost.length > 0) this.#errors.push(await this.#whereIs(lost[0]!, archive));
      assert.deepEqual({ lost, back, doubled }, { lost: [], back: [], doubled: [] });
      await archive.compact();
      await delay(TIMES.graceMs);
      await archive.compact();
      const problems: string[] = [];
      await archive.verify({ onProblem: ({ code, message }) => void problems.push(`${code}: ${message}`) });
      assert.deepEqual(problems, []);
      const contents = new Set([...found.keys()].map(contentName));
      const totals = await archive.totals();
      assert.deepEqual([totals.captures, totals.blocks], [found.size, contents.size]);
      assert.equal((await archive.examine()).catalog?.surplusRecords, 0);
      const before = await Array.fromAsync(archive.exportCdxj({}));
      await archive.rebuild();
      assert.deepEqual(await Array.fromAsync(archive.exportCdxj({})), before);
    } finally {
      await archive.close();
    }
  }

  /** The objects that have a record of the capture, and the segments of the catalog, for the report of a failure. */
  async #whereIs(number: number, archive: Archive): Promise<string> {
    const folder = join(this.#volumes.directory, this.#volumes.bucket, 'trial');
    const lines: string[] = [];
    for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const path = join(file.parentPath, file.name);
      const bytes = readFileSync(path);
      const isWarc = bytes[0] === 0x1f;
      const has = isWarc && gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).includes(`${urlOf(number)}\r`);
      lines.push(
        `${relative(folder, path)} ${bytes.length} ${statSync(path).mtime.toISOString()}${has ? ' HAS IT' : ''}`,
      );
    }
    for (const row of await archive.segments()) lines.push(JSON.stringify(row));
    return `capture ${number}\n${lines.join('\n')}`;
  }

  async #end(): Promise<void> {
    for (const machine of [...this.#writers, ...this.#readers]) {
      machine.isEnded = true;
      machine.child?.kill('SIGKILL');
    }
    await this.#cutting.close();
    await this.#faults.close();
    await this.#volumes[Symbol.asyncDispose]();
    await this.#postgres.dispose();
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }
}

const EVENTS = [
  'writer killed',
  'writer killed',
  'writer stopped',
  'reader killed',
  'database killed',
  'database silent',
  'volume killed',
  'volume faults',
] as const;

const VOLUME_FAULTS: readonly Fault[] = [
  { kind: 'answer lost' },
  { kind: 'held' },
  { kind: 'twice' },
  { kind: 'refused', status: 503, code: 'SlowDown' },
];
