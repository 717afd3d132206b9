import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, createArchive, openArchive } from '../archive/index.ts';
import { PinakesError, seededIds, seededRandom } from '../base/index.ts';
import { type JobKind, type RunningServer, type ServerOptions, startServer } from '../server/index.ts';
import type { CommandContext } from './command.ts';
import { runInServer } from './remote.ts';
import { commandRunner } from './serve/remote-runner.ts';
import { Terminal } from './terminal.ts';

const TOKEN = 'token-of-the-tests';

/** A terminal that records the output and answers questions with the given answers. */
class KeepingTerminal extends Terminal {
  override readonly isInteractive: boolean;
  out = '';
  err = '';
  readonly asked: string[] = [];
  readonly #answers: string[];
  readonly #input: AsyncIterable<Uint8Array>;

  constructor(answers: string[] | undefined, input: AsyncIterable<Uint8Array>) {
    super();
    this.isInteractive = answers !== undefined;
    this.#answers = answers ?? [];
    this.#input = input;
  }

  override async write(bytes: Uint8Array | string): Promise<void> {
    this.out += Buffer.from(bytes as Uint8Array).toString();
  }

  override writeError(bytes: Uint8Array): void {
    this.err += Buffer.from(bytes).toString();
  }

  override async ask(question: string): Promise<string | undefined> {
    this.asked.push(question);
    return this.#answers.shift();
  }

  override stdin(): AsyncIterable<Uint8Array> {
    return this.#input;
  }

  override closeStdin(): void {}

  override get columns(): number {
    return 80;
  }
}

type RemoteJob = {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly origin: string;
  readonly hasErrors?: boolean;
  readonly report?: Record<string, unknown>;
  readonly log: string[];
  readonly error?: { readonly code: string };
};

type ServedHere = {
  readonly directory: string;
  readonly archive: Archive;
  readonly server: RunningServer;
  readonly jobs: () => Promise<RemoteJob[]>;
  readonly cancel: (id: string) => Promise<void>;
  readonly run: (
    argv: string[],
    options?: { answers?: string[]; input?: AsyncIterable<Uint8Array>; signal?: AbortSignal },
  ) => { terminal: KeepingTerminal; code: Promise<number | undefined> };
};

async function served(
  t: TestContext,
  jobKinds: JobKind[] = [],
  options: Partial<ServerOptions> = {},
): Promise<ServedHere> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-remote-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  await createArchive(directory);
  const parts = {
    clock: () => Date.parse('2026-01-01T00:00:00Z'),
    newId: seededIds(seededRandom(7)),
    software: 'test/1',
  };
  const archive = await openArchive(directory, { ...parts, purpose: 'serve' });
  const server = await startServer({
    archive,
    host: '127.0.0.1',
    port: 0,
    replayPort: 0,
    token: TOKEN,
    ...parts,
    version: 'test',
    jobKinds,
    runCommand: commandRunner({ ...parts, terminal: new Terminal() }, archive),
    ...options,
  });
  t.after(async () => {
    await server.close();
    await archive.close();
  });
  const tokenFile = join(directory, 'server-token');
  writeFileSync(tokenFile, TOKEN);
  await archive.announceServer({ url: server.uiAddress, tokenFile, commandPath: server.commandPath });
  const api = (path: string, method = 'GET') =>
    fetch(`${server.uiAddress}${path}`, { method, headers: { authorization: `Bearer ${TOKEN}` } });
  return {
    directory,
    archive,
    server,
    jobs: async () => ((await (await api('/api/jobs')).json()) as { items: RemoteJob[] }).items,
    cancel: async (id) => void (await api(`/api/jobs/${id}/cancel`, 'POST')),
    run: (argv, { answers, input = nothing(), signal = new AbortController().signal } = {}) => {
      const terminal = new KeepingTerminal(answers, input);
      const context: CommandContext = { ...parts, terminal, signal, argv, directory, user: 'ada' };
      return { terminal, code: runInServer(context, directory) };
    },
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** An input that yields some bytes and then never ends. `begun` resolves when more bytes are requested. */
function endless(): { input: AsyncGenerator<Uint8Array>; begun: Promise<void> } {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  async function* input(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('the beginning');
    resolve();
    await new Promise(() => {});
  }
  return { input: input(), begun };
}

async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A job that keeps other writing jobs waiting until `letGo` is called. */
function holding(): { kind: JobKind; letGo: () => void } {
  const gate = Promise.withResolvers<void>();
  return { kind: { name: 'hold', input: {}, run: () => gate.promise }, letGo: () => gate.resolve() };
}

async function hold({ server }: ServedHere): Promise<void> {
  const body = JSON.stringify({ kind: 'hold', input: {} });
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  assert.equal((await fetch(`${server.uiAddress}/api/jobs`, { method: 'POST', headers, body })).status, 202);
}

test('a command opens the archive itself when no server has it open', async (t) => {
  const { run, archive, server } = await served(t);
  await archive.announceServer(undefined);
  assert.equal(await run(['stats']).code, undefined);
  const tokenFile = join(archive.directory, 'server-token');
  await archive.announceServer({ url: server.uiAddress, tokenFile });
  assert.equal(await run(['stats']).code, undefined);
  await archive.announceServer({ url: server.uiAddress, tokenFile, commandPath: join(archive.directory, 'nothing') });
  assert.equal(await run(['stats']).code, undefined);
});

/** Sends an incomplete request, and resolves when the server has refused it for its slowness. */
async function untilTooSlow({ server }: ServedHere): Promise<void> {
  const { hostname, port } = new URL(server.uiAddress);
  const slow = connect(Number(port), hostname);
  const head = `POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
  slow.write(`${head}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{`);
  const [reply] = (await once(slow, 'data')) as [Buffer];
  slow.destroy();
  assert.match(reply.toString(), /^HTTP\/1\.1 408 /);
}

test('a command may be silent for longer than an upload', async (t) => {
  const timeouts = { silenceMs: 60, body: { windowMs: 50, bytesMin: 4096 } };
  const one = await served(t, [], { timeouts });
  const typed = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  async function* input() {
    yield Buffer.from('some bytes');
    begun.resolve();
    await typed.promise;
    yield Buffer.from(' and more');
  }
  const put = one.run(['put', '-'], { input: input() });
  await begun.promise;
  // Each slow request lasts until an upload that sends nothing is refused, and starts after the command.
  for (let window = 0; window < 3; window++) await untilTooSlow(one);
  typed.resolve();
  assert.equal(await put.code, 0, put.terminal.err);
  const cat = one.run(['cat', put.terminal.out.trim()]);
  assert.deepEqual([await cat.code, cat.terminal.out], [0, 'some bytes and more']);
});

test('standard input is passed on piece by piece, and the output comes back byte for byte', async (t) => {
  const { run } = await served(t);
  const piece = Buffer.alloc(3 * 1024 * 1024, 'abc');
  async function* input() {
    yield piece;
    yield Buffer.from('\u0000\u0001end');
  }
  const put = run(['put', '-'], { input: input() });
  assert.equal(await put.code, 0);
  const key = put.terminal.out.trim();
  assert.match(key, /^main:sha256:[0-9a-f]{64}$/);
  const cat = run(['cat', key]);
  assert.equal(await cat.code, 0);
  assert.equal(cat.terminal.out, `${piece}\u0000\u0001end`);
});

test('a deletion asks at the terminal of the client, and becomes a job when it starts to delete', async (t) => {
  const { run, archive, jobs } = await served(t);
  await archive.store({ kind: 'bytes', time: 0, body: Buffer.alloc(2000, 1) });
  const no = run(['delete', '--collection', 'default'], { answers: ['n'] });
  assert.equal(await no.code, 0);
  assert.deepEqual(no.terminal.asked, ['Delete? [y/N] ']);
  assert.match(no.terminal.err, /1 capture will be deleted:[\s\S]*nothing was deleted\n$/);
  const nobody = run(['delete', '--collection', 'default']);
  assert.equal(await nobody.code, 2);
  assert.match(nobody.terminal.err, /^pinakes: delete: .*no terminal.*\[CONFIRMATION_NEEDED\]\n {2}Add --yes/m);
  const dry = run(['delete', '--collection', 'default', '--dry-run']);
  assert.equal(await dry.code, 0);
  assert.deepEqual(await jobs(), [], 'a question makes no job');
  const yes = run(['delete', '--collection', 'default'], { answers: ['yes'] });
  assert.equal(await yes.code, 0);
  assert.match(yes.terminal.out, /^deleted 1 capture and 1 content\n$/);
  const [deletion] = await jobs();
  assert.deepEqual(deletion!.report, { exitCode: 0, captures: 1, contents: 1 });
  assert.equal(await run(['delete', '--url', 'http://nowhere.test/', '--yes']).code, 0);
  assert.equal((await jobs()).length, 1, 'nothing was meant, so nothing was done');
});

test('volume add creates a missing directory only after a yes at the terminal of the client', async (t) => {
  const { run, archive, directory } = await served(t);
  const path = join(directory, 'disk2');
  const no = run(['volume', 'add', 'second', 'disk2'], { answers: ['n'] });
  assert.equal(await no.code, 0);
  assert.deepEqual(no.terminal.asked, [`${path} does not exist. Create it? [y/N] `]);
  assert.match(no.terminal.err, /no volume was added\n$/);
  const refused = run(['volume', 'add', 'second', 'disk2']);
  assert.equal(await refused.code, 2);
  assert.match(refused.terminal.err, /--create.*\[FILE_MISSING\]/);
  assert.equal(existsSync(path), false);
  assert.equal(await run(['volume', 'add', 'second', 'disk2'], { answers: ['y'] }).code, 0);
  const remove = run(['volume', 'remove', 'second']);
  assert.equal(await remove.code, 0);
  assert.match(remove.terminal.out, /^removed volume second/);
  assert.deepEqual(
    archive.connector.volumes.map(({ name }) => name),
    ['main'],
  );
});

test('listing or removing schedules, a dry run and help are not jobs', async (t) => {
  const { run, jobs } = await served(t);
  for (const argv of [
    ['crawl', '--schedules'],
    ['crawl', '--every', 'never'],
    ['compact', '--dry-run'],
    ['verify', '--help'],
  ])
    assert.equal(await run(argv).code, 0, argv.join(' '));
  assert.deepEqual(await jobs(), []);
});

test('a command passes its report to its job, and a job that found errors is marked', async (t) => {
  const one = await served(t);
  await one.archive.store({ kind: 'bytes', time: 0, body: Buffer.alloc(2000, 1) });
  await one.archive.flush();
  assert.equal(await one.run(['verify']).code, 0);
  const [sound] = await one.jobs();
  assert.deepEqual([sound!.report!.exitCode, sound!.report!.captures, sound!.report!.errors], [0, 1, 0]);
  assert.equal(sound!.hasErrors, undefined);
  const collection = join(one.directory, 'volumes', 'main', 'default');
  const path = join(collection, readdirSync(collection).find((name) => name.includes('.warc'))!);
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0, bytes.length >> 1, (bytes.length >> 1) + 20));
  const verify = one.run(['verify']);
  assert.equal(await verify.code, 1);
  const [damaged] = await one.jobs();
  assert.deepEqual([damaged!.state, damaged!.hasErrors, damaged!.report!.exitCode], ['done', true, 1]);
  assert.ok(Number(damaged!.report!.errors) > 0);
  assert.deepEqual(damaged!.log, verify.terminal.out.trimEnd().split('\n'), 'the log has what was printed');
  assert.equal(await one.run(['add', 'nowhere.warc.gz']).code, 2);
  const [failed] = await one.jobs();
  assert.deepEqual([failed!.state, failed!.report!.exitCode, failed!.report!.files], ['failed', 2, 0]);
});

test('printing a large page to a slow reader leaves no listener behind', async (t) => {
  const { run, archive } = await served(t);
  const warnings: string[] = [];
  const keep = ({ name }: Error) => void warnings.push(name);
  process.on('warning', keep);
  t.after(() => process.off('warning', keep));
  await archive.store({
    kind: 'resource',
    url: 'http://large.test/',
    time: 0,
    mime: 'text/plain',
    body: Buffer.alloc(12_000_000, 'a'),
  });
  const cat = run(['get', 'http://large.test/']);
  assert.equal(await cat.code, 0);
  assert.equal(cat.terminal.out.length, 12_000_000);
  assert.deepEqual(warnings, []);
});

test('an interrupted input stores nothing and exits with 130', async (t) => {
  const { run, archive } = await served(t);
  const interrupt = new AbortController();
  const { input, begun } = endless();
  const put = run(['put', '-'], { input, signal: interrupt.signal });
  await begun;
  interrupt.abort();
  assert.equal(await put.code, 130);
  assert.match(put.terminal.err, /pinakes: interrupted\n$/);
  assert.equal((await archive.totals()).captures, 0);
  assert.deepEqual(readdirSync(archive.scratch), []);
});

test('a long command is a job: it waits for the earlier job, and Ctrl-C or the API cancels it', async (t) => {
  const { kind, letGo } = holding();
  const one = await served(t, [kind]);
  await hold(one);
  const interrupt = new AbortController();
  const first = one.run(['compact'], { signal: interrupt.signal });
  const queued = await until(async () => (await one.jobs()).find((job) => job.kind === 'compact'));
  assert.deepEqual([queued.state, queued.origin], ['queued', 'command']);
  interrupt.abort();
  assert.equal(await first.code, 130);
  assert.match(first.terminal.err, /^waiting for another job to end\n/);
  const second = one.run(['rebuild']);
  const other = await until(async () => (await one.jobs()).find((job) => job.kind === 'rebuild'));
  await one.cancel(other.id);
  assert.equal(await second.code, 130);
  const third = one.run(['compact', '--json']);
  await until(async () => ((await one.jobs()).filter((job) => job.kind === 'compact').length > 1 ? true : undefined));
  letGo();
  assert.equal(await third.code, 0);
  const staying = { readOnly: [], waiting: [], kept: [] };
  assert.deepEqual(JSON.parse(third.terminal.out), { isDone: false, segments: 0, deadBytes: 0, ...staying });
  assert.deepEqual(
    (await one.jobs()).map(({ kind: name, state }) => [name, state]),
    [
      ['compact', 'done'],
      ['rebuild', 'cancelled'],
      ['compact', 'cancelled'],
      ['hold', 'done'],
    ],
  );
});

test('a failed command is a failed job with the message of the command', async (t) => {
  const one = await served(t);
  const add = one.run(['add', 'nowhere.warc.gz']);
  assert.equal(await add.code, 2);
  assert.match(add.terminal.err, /nowhere\.warc\.gz: there is no such file or directory \[FILE_MISSING\]/);
  const [job] = await one.jobs();
  assert.deepEqual([job!.state, job!.error?.code], ['failed', 'COMMAND_FAILED']);
});

test('relative paths start in the directory of the command, not of the server', async (t) => {
  const one = await served(t);
  await one.archive.store({ kind: 'bytes', time: 0, body: Buffer.alloc(2000, 1) });
  const exported = one.run(['export', 'out.warc.gz']);
  assert.equal(await exported.code, 0);
  assert.match(exported.terminal.out, /^out\.warc\.gz: 1 capture/);
  assert.ok(existsSync(join(one.directory, 'out.warc.gz')));
});

test('a server refuses to run init, serve and unknown commands', async (t) => {
  const { run } = await served(t);
  for (const argv of [['init', 'other'], ['serve'], ['fly']]) assert.equal(await run(argv).code, 2, argv.join(' '));
});

test('a server that stops during a command is reported as gone', async (t) => {
  const one = await served(t);
  const { input, begun } = endless();
  const put = one.run(['put', '-'], { input });
  await begun;
  const stopped = one.server.close({ force: AbortSignal.abort() });
  const outcome = await put.code!.catch((error: unknown) => error);
  await stopped;
  // The command was either interrupted in time, or the connection broke.
  if (outcome instanceof PinakesError) assert.equal(outcome.code, 'SERVER_GONE');
  else assert.equal(outcome, 130);
});
