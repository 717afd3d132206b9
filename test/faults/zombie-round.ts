/**
 * Archives on a bucket whose writer is stopped or killed at a random moment:
 *
 * - killed: the archive is opened again where it was.
 * - stopped, with SIGSTOP: the disk of its machine counts as lost. An archive elsewhere takes the bucket over and
 *   writes to it. Then the stopped writer goes on.
 *
 * What any writer acknowledged is there afterwards, once, also what the stopped one acknowledges when it goes on. What
 * was deleted stays deleted, its bytes leave the bucket with the next compaction, and no parts are left over.
 *
 * When a round fails, everything is kept: the directories of the machines, what the writers said, and the bucket as it
 * was before the check of that round and after it.
 *
 * ```
 *   machine-<n>/                     the archive on a machine
 *   writers.txt                      the lines of all writers in order, with their errors
 *   before/  after/                  machine/ (only before), bucket/, and objects.txt with times
 * ```
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { type Archive, createArchive } from '../../src/archive/index.ts';
import { type Random, seededRandom } from '../../src/base/index.ts';
import { audit } from '../archive/trial-archive.ts';
import { startVolumeServerProcess } from '../volume-server/volume-server-process.ts';
import { reopen, WriterModel } from './archive-kill.ts';
import { copyBucket, objectNames } from './bucket-copy.ts';

const VOLUME = 'far';
const AFTER_MS_MAX = 800;
/** Lines of writers that are shown when a round fails. All of them are in a file. */
const SAID_MAX = 400;
/** A writer that goes on notices soon that the bucket is not its own. */
const ENDING_MS_MAX = 60_000;

type Bucket = {
  readonly endpoint: string;
  readonly url: string;
  /** Where the server has its objects. */
  readonly folder: string;
};

const PREFIX = 'zombie';

export type ZombieReport = { killed: number; takenOver: number; acknowledged: number };

/** Runs rounds on a volume server of their own. */
export async function zombieRounds(
  rounds: number,
  seed: number,
  tell: (text: string) => void = () => {},
): Promise<ZombieReport> {
  await using server = await startVolumeServerProcess();
  const { endpoint, bucket, accessKeyId, secretAccessKey } = server;
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
  const folder = join(server.directory, bucket, PREFIX);
  const trial = await ZombieTrial.begin({ endpoint, url: `s3://${bucket}/${PREFIX}`, folder }, seed);
  const report = { killed: 0, takenOver: 0, acknowledged: 0 };
  try {
    for (let round = 0; round < rounds; round++) {
      const kind = await trial.round().catch((cause: unknown) => {
        throw new Error(`seed ${seed}, round ${round}, ${trial.keep(server.said())}`, { cause });
      });
      report[kind]++;
      report.acknowledged = trial.acknowledged;
      tell(`round ${round}: ${kind}, ${trial.acknowledged} calls acknowledged so far`);
    }
    return report;
  } finally {
    trial.end();
  }
}

class Writer {
  readonly lines: string[] = [];
  readonly child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #opened = Promise.withResolvers<void>();
  #errors = '';

  constructor(directory: string, seed: number, first: number) {
    this.child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'archive-child.ts'), directory, String(seed), String(first)],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.child.stderr!.on('data', (data: Buffer) => {
      this.#errors += data.toString();
    });
    this.#ended = new Promise((resolve) => this.child.once('close', () => resolve()));
    createInterface(this.child.stdout!).on('line', (line) => {
      if (line === 'open') this.#opened.resolve();
      else this.lines.push(line);
    });
  }

  /** Waits until it has opened the archive. */
  async opened(): Promise<void> {
    await Promise.race([this.#opened.promise, this.#ended]);
    assert.equal(this.child.exitCode, null, `the writer ended by itself: ${this.#errors}`);
  }

  async ended(): Promise<string> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), ENDING_MS_MAX);
    await this.#ended;
    clearTimeout(timer);
    return this.#errors;
  }
}

class ZombieTrial {
  readonly #bucket: Bucket;
  readonly #random: Random;
  readonly #model = new WriterModel();
  readonly #root: string;
  #directory: string;
  #seed: number;
  #machines = 0;
  #aheadMs = 0;
  #isKept = false;
  /** What the last writers said, for the report of a failure. */
  #said: string[] = [];

  private constructor(bucket: Bucket, seed: number) {
    this.#bucket = bucket;
    this.#random = seededRandom(seed);
    this.#seed = seed;
    this.#root = mkdtempSync(join(tmpdir(), 'pinakes-zombie-'));
    this.#directory = join(this.#root, 'machine-0');
  }

  static async begin(bucket: Bucket, seed: number): Promise<ZombieTrial> {
    const trial = new ZombieTrial(bucket, seed);
    await createArchive(trial.#directory, { policies: { segmentBytesMax: 60_000 } });
    const archive = await trial.#open();
    await archive.addVolume({ name: VOLUME, path: bucket.url, endpoint: bucket.endpoint, region: 'us-east-1' });
    await archive.setVolumeWritable('main', false);
    await archive.removeVolume('main');
    await archive.close();
    return trial;
  }

  /** Keeps everything after a failure. Returns where it is, and the last lines of the writers. */
  keep(serverSaid: string): string {
    this.#isKept = true;
    copyBucket(this.#bucket.folder, join(this.#root, 'after'));
    appendFileSync(join(this.#root, 'writers.txt'), `volume server: ${serverSaid}\n`);
    return `kept in ${this.#root}, the archive in ${this.#directory}, after\n${this.#said.join('\n')}\n`;
  }

  /** How many captures were acknowledged so far. */
  get acknowledged(): number {
    return this.#model.acknowledged;
  }

  async round(): Promise<'killed' | 'takenOver'> {
    const writer = new Writer(this.#directory, this.#seed++, this.#model.next);
    await writer.opened();
    await delay(this.#random() * AFTER_MS_MAX);
    const isKilled = this.#random() < 0.5;
    if (isKilled) {
      writer.child.kill('SIGKILL');
      this.#take('killed', writer.lines, await writer.ended());
      await this.#check(writer.lines);
      return 'killed';
    }
    writer.child.kill('SIGSTOP');
    const before = writer.lines.length;
    this.#note(`stopped after ${before} lines`);
    await this.#takeOver();
    // The successor writes, and is ended in an orderly way or goes on while the former writer wakes up.
    this.#take('stopped', writer.lines.slice(0, before));
    const successor = new Writer(this.#directory, this.#seed++, this.#model.next + 1000);
    await successor.opened();
    await delay(this.#random() * AFTER_MS_MAX);
    writer.child.kill('SIGCONT');
    const said = await writer.ended();
    this.#note(`former: ${said}`);
    // The bucket is not its own any more, or its successor has compacted away what it was reading.
    assert.match(said, /PinakesError/, `the former writer went on: ${said}`);
    successor.child.kill('SIGKILL');
    const successorSaid = await successor.ended();
    // What the former writer acknowledged after it went on came before what its successor did.
    this.#take('stopped, later', writer.lines.slice(before));
    this.#take('successor', successor.lines, successorSaid);
    await this.#check(successor.lines);
    return 'takenOver';
  }

  end(): void {
    if (!this.#isKept) rmSync(this.#root, { recursive: true, force: true });
  }

  #take(who: string, lines: readonly string[], errors = ''): void {
    for (const line of lines) this.#note(`${who}: ${line}`);
    if (errors !== '') this.#note(`${who}: ${errors}`);
    this.#model.takeAll(lines);
  }

  #note(line: string): void {
    this.#said.push(line);
    if (this.#said.length > SAID_MAX) this.#said.splice(0, this.#said.length - SAID_MAX);
    appendFileSync(join(this.#root, 'writers.txt'), `${line}\n`);
  }

  async #takeOver(): Promise<void> {
    const former = this.#directory;
    this.#directory = join(this.#root, `machine-${++this.#machines}`);
    mkdirSync(this.#directory);
    cpSync(join(former, 'archive.yaml'), join(this.#directory, 'archive.yaml'));
    const archive = await this.#open();
    await archive.takeVolume(VOLUME);
    await archive.close();
  }

  async #check(lines: readonly string[]): Promise<void> {
    const before = join(this.#root, 'before');
    copyBucket(this.#bucket.folder, before);
    cpSync(this.#directory, join(before, 'machine'), { recursive: true });
    const archive = await this.#open(lines);
    try {
      await this.#model.compare(archive);
      await archive.compact();
      // Segments that nothing refers to are removed when they were seen for a day.
      this.#aheadMs += 25 * 3600 * 1000;
      await archive.compact();
      assert.deepEqual(await audit(archive), []);
      const problems: string[] = [];
      await archive.verify({ onProblem: ({ code, message }) => void problems.push(`${code}: ${message}`) });
      assert.deepEqual(problems, []);
      await this.#assertClean(archive);
      await this.#model.compare(archive);
    } finally {
      await archive.close();
    }
  }

  /** Every part belongs to an open segment, and every segment is one of the archive's. */
  async #assertClean(archive: Archive): Promise<void> {
    const segments = await archive.segments();
    const open = segments.flatMap(({ name, state }) => (state === 'sealed' ? [] : [name]));
    const names = new Set(segments.map(({ name }) => name));
    for (const name of objectNames(this.#bucket.folder)) {
      if (name.endsWith('.part'))
        assert.ok(
          open.some((one) => name.includes(`/${one}/`)),
          `${name} is left over`,
        );
      else if (name.endsWith('.warc.gz') || name.endsWith('.warc.zst'))
        assert.ok(names.has(name), `${name} is left over`);
    }
  }

  #open(lines: readonly string[] = []): Promise<Archive> {
    return reopen(this.#directory, this.#random, lines, () => Date.now() + this.#aheadMs);
  }
}
