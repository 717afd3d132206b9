/**
 * Runs the program itself on damaged files and bombs, as processes and by uploads to a server. None may crash, hang, or
 * take too much memory. Memory is the high-water mark that Linux keeps for a process (`VmHWM`), without child
 * processes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { BOMB_REQUESTS, bombs } from './bomb.ts';
import type { Failure } from './campaign.ts';
import { damagedFile, type FileInput } from './file-input.ts';

const PROGRAM = resolve(import.meta.dirname, '../../src/cli/main.ts');
const RESIDENT_BYTES_MAX = 400 * 1024 * 1024;
/** Long enough for a reader on a busy machine. */
const HANG_MS = 10 * 60_000;
const LOOK_MS = 20;
const WORKERS = 2;
const NOTED_GROWTH = 1.05;
const FAILURES_MAX = 20;
/** The environment in which the checkout and the package start the program. */
const ENVIRONMENT = {
  NODE_COMPILE_CACHE: resolve(import.meta.dirname, '../../node_modules/.cache/pinakes'),
  ...process.env,
};
const ERR_CHARS_MAX = 64 * 1024;

export type ProcessCampaign = {
  readonly runs: number;
  readonly failures: readonly Failure[];
  /** By command: the largest memory of a process, and the input of that process. */
  readonly peaks: ReadonlyMap<string, { readonly bytes: number; readonly input: string }>;
};

type Ways = 'ls' | 'check' | 'warc index' | 'add' | 'index' | 'upload';
const WAYS: readonly Ways[] = ['ls', 'check', 'warc index', 'add', 'index', 'upload'];

export async function runProcessCampaign(seed: number, runs: number): Promise<ProcessCampaign> {
  if (runs === 0) return { runs: 0, failures: [], peaks: new Map() };
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-fuzz-'));
  const peaks = new Map<string, { bytes: number; input: string }>();
  const failures: Failure[] = [];
  const note = (way: string, input: FileInput, at: number, { fault, bytes }: { fault?: string; bytes: number }) => {
    const before = peaks.get(way)?.bytes ?? 0;
    if (bytes > before) peaks.set(way, { bytes, input: input.name });
    // The high-water mark of a server never falls, so the input that raised it is at fault.
    const isLarge = bytes > RESIDENT_BYTES_MAX && bytes > before * NOTED_GROWTH;
    const described = fault ?? (isLarge ? `it took ${Math.round(bytes / 1024 ** 2)} MiB` : undefined);
    if (described)
      failures.push({ seed: at, input: `${way} of ${input.name}`, damages: [], fault: described, bytes: input.bytes });
  };
  let server: Server | undefined;
  let next = 0;
  const [heavy, all] = [bombs(), WAYS.length];
  try {
    server = await Server.start(directory);
    const { peak } = server;
    const work = async (worker: number) => {
      const archive = join(directory, `archive-${worker}`);
      await run(['init', '--archive', archive]);
      for (let at = next++; at < runs && failures.length < FAILURES_MAX; at = next++) {
        // First every bomb is read in every way, then damaged files.
        const way = WAYS[at % all]!;
        const bomb = heavy[Math.floor(at / all)];
        const input = bomb ?? damagedFile(seed + at);
        const path = join(directory, `${at}-${input.name}`);
        await writeFile(path, input.bytes);
        if (way === 'upload') {
          const fault = await server!.upload(input);
          note(way, input, seed + at, { ...(fault && { fault }), bytes: peak() });
        } else {
          for (const args of argumentsOf(way, path, archive)) note(way, input, seed + at, await run(args));
        }
        await rm(path);
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
    for (const path of BOMB_REQUESTS) {
      const fault = await server.ask(path);
      note('request', { name: path.slice(0, 60), bytes: Buffer.alloc(0) }, seed, {
        ...(fault && { fault }),
        bytes: peak(),
      });
    }
  } finally {
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  }
  return { runs: Math.min(next, runs), failures, peaks };
}

/** The commands of a way. Files are added before they are indexed. */
function argumentsOf(way: Ways, path: string, archive: string): string[][] {
  const adding = ['add', path, '--archive', archive];
  switch (way) {
    case 'ls':
    case 'check':
      return [['warc', way, path]];
    case 'warc index':
      return [['warc', 'index', path]];
    case 'add':
      return [adding];
    default:
      return [adding, ['index', '--archive', archive]];
  }
}

type Ended = { readonly fault?: string; readonly bytes: number };

async function run(args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'ignore', 'pipe'], env: ENVIRONMENT });
  let err = '';
  child.stderr!.on('data', (piece: Buffer) => {
    if (err.length < ERR_CHARS_MAX) err += piece.toString();
  });
  const peak = watch(child);
  const hung = new AbortController();
  const closed = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  const ended = await Promise.race([closed, setTimeout(HANG_MS, 'hung' as const, { signal: hung.signal, ref: false })]);
  hung.abort();
  if (ended === 'hung') {
    child.kill('SIGKILL');
    await closed;
    return { fault: `${args.join(' ')} did not end within ${HANG_MS} ms`, bytes: peak() };
  }
  const [code, signal] = ended;
  // Exit code 1 means findings, and 2 means an operating failure with an error message.
  const isFine = signal === null && code !== null && code <= 2 && !/^\s+at .*:\d+:\d+\)?$/m.test(err);
  return { ...(!isFine && { fault: `${args.join(' ')}: ${code ?? signal}\n${err.slice(0, 2000)}` }), bytes: peak() };
}

/** Watches the memory of a process until the process ends. Returns a function that gives the maximum. */
function watch(child: ChildProcess): () => number {
  let most = 0;
  const look = () => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'latin1');
      most = Math.max(most, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024);
    } catch {
      // The process has ended, or the system has no such mark.
    }
  };
  const timer = setInterval(look, LOOK_MS);
  child.on('exit', () => clearInterval(timer));
  return () => {
    look();
    return most;
  };
}

class Server {
  readonly #child: ChildProcess;
  readonly #address: string;
  readonly #token: string;
  readonly peak: () => number;

  private constructor(child: ChildProcess, { uiAddress, token }: { uiAddress: string; token: string }) {
    this.#child = child;
    this.#address = uiAddress;
    this.#token = token;
    this.peak = watch(child);
  }

  static async start(directory: string): Promise<Server> {
    const where = ['--archive', join(directory, 'served'), '--init', '--port', '0', '--replay-port', '0'];
    const child = spawn(process.execPath, [PROGRAM, 'serve', '--json', ...where], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: ENVIRONMENT,
    });
    const lines = createInterface({ input: child.stdout! });
    const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => ['{}'])])) as [string];
    lines.on('line', () => {});
    return new Server(child, JSON.parse(line) as { uiAddress: string; token: string });
  }

  /** Uploads a file and waits for its job. Returns a description of the fault. */
  async upload({ name, bytes }: FileInput): Promise<string | undefined> {
    const authorization = `Bearer ${this.#token}`;
    const headers = { authorization, 'content-type': 'application/octet-stream' };
    const endsAt = performance.now() + HANG_MS;
    try {
      const signal = AbortSignal.timeout(HANG_MS);
      const path = `/api/uploads?name=${encodeURIComponent(name)}`;
      const reply = await fetch(this.#address + path, {
        method: 'POST',
        headers,
        body: Uint8Array.from(bytes),
        signal,
      });
      const job = (await reply.json()) as { id?: string };
      // A file that is not a WARC is refused immediately.
      if (reply.status >= 500) return `the upload was answered with ${reply.status}: ${JSON.stringify(job)}`;
      for (let id = job.id; id !== undefined; await setTimeout(LOOK_MS)) {
        const { state, error } = (await (
          await fetch(`${this.#address}/api/jobs/${id}`, { headers: { authorization }, signal })
        ).json()) as { state: string; error?: { code: string } };
        if (state === 'failed' && error?.code === 'INTERNAL') return `the job failed: ${JSON.stringify(error)}`;
        if (['done', 'failed', 'cancelled'].includes(state)) return undefined;
        if (performance.now() > endsAt) return `the job of the upload did not end: ${state}`;
      }
      return undefined;
    } catch (error) {
      return this.#gone(error);
    }
  }

  async ask(path: string): Promise<string | undefined> {
    try {
      const reply = await fetch(this.#address + path, { signal: AbortSignal.timeout(HANG_MS) });
      await reply.body?.cancel();
      return reply.status >= 500 ? `it answered ${reply.status}` : undefined;
    } catch (error) {
      return this.#gone(error);
    }
  }

  #gone(error: unknown): string {
    const how = this.#child.exitCode ?? this.#child.signalCode;
    const cause = (error as { cause?: unknown }).cause;
    return how === null ? `no answer: ${error} ${cause ?? ''}` : `the server ended with ${how}`;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }
}
