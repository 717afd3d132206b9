/** Jobs of an archive that several processes serve: each a process of its own, on a directory of its own. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { type JobReply, writeWarc } from '../api/served-archive.ts';
import { contentOf, NOON, page, temporaryDirectory } from '../archive/trial-archive.ts';
import { noPostgres, TestCluster } from './cluster-sample.ts';

const TOKEN = 'token-of-the-tests';
const LEASE_MS = 2000;
const CHILD = join(import.meta.dirname, 'serving-child.ts');

type Job = JobReply & { readonly server?: string; readonly attempt?: number; readonly progress?: { done: number } };

class Server {
  readonly address: string;
  readonly directory: string;
  readonly process: ChildProcess;

  constructor(address: string, directory: string, child: ChildProcess) {
    this.address = address;
    this.directory = directory;
    this.process = child;
  }

  /** Whether this server is the one that a job names. */
  isNamed({ server = '' }: Job): boolean {
    return server.endsWith(`:${new URL(this.address).port}`);
  }

  async call(path: string, init: RequestInit = {}): Promise<Response> {
    return await fetch(`${this.address}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${TOKEN}`, ...init.headers },
    });
  }

  async submit(kind: string, input: object = {}): Promise<Job> {
    const headers = { 'content-type': 'application/json' };
    const reply = await this.call('/api/jobs', { method: 'POST', headers, body: JSON.stringify({ kind, input }) });
    const job = (await reply.json()) as Job;
    assert.equal(reply.status, 202, JSON.stringify(job));
    return job;
  }

  async job(id: string): Promise<Job> {
    return (await (await this.call(`/api/jobs/${id}`)).json()) as Job;
  }

  async cancel(id: string): Promise<void> {
    assert.equal((await this.call(`/api/jobs/${id}/cancel`, { method: 'POST' })).status, 200);
  }

  /** The job when `isSo`, as the server says when asked again and again. */
  async when(id: string, isSo: (job: Job) => boolean): Promise<Job> {
    for (let waited = 0; ; waited += 50) {
      const job = await this.job(id);
      if (isSo(job)) return job;
      assert.ok(waited < 30_000, `waited in vain: ${JSON.stringify(job)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  over(id: string): Promise<Job> {
    return this.when(id, ({ state }) => state === 'done' || state === 'failed' || state === 'cancelled');
  }

  /** What a browser that is connected to this server sees of a job, until it is so. */
  async watch(id: string, isSo: (job: Job) => boolean, lastEventId?: string): Promise<{ jobs: Job[]; lastId: string }> {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const response = await this.call('/api/jobs/events', { headers });
    const jobs: Job[] = [];
    let text = '';
    let lastId = '';
    for await (const piece of response.body!) {
      text += Buffer.from(piece).toString();
      const events = text.split('\n\n');
      text = events.pop()!;
      for (const event of events) {
        const [, eventId, data] = /^id: (.*)\ndata: (.*)$/m.exec(event) ?? [];
        if (data === undefined) continue;
        lastId = eventId!;
        const job = JSON.parse(data) as Job;
        if (job.id === id) jobs.push(job);
      }
      if (jobs.length > 0 && isSo(jobs.at(-1)!)) break;
    }
    return { jobs, lastId };
  }
}

describe('jobs in a cluster', { skip: noPostgres }, () => {
  let cluster: TestCluster;
  let catalog: string;
  const started: ChildProcess[] = [];
  let one: Server;
  /** Ends in some tests, and is started again. */
  let two: Server;
  before(async () => {
    cluster = await TestCluster.start();
    const made = await cluster.archive();
    catalog = made.catalog;
    for (let number = 0; number < 3; number++)
      await made.archive.store(page(`http://a.example/${number}`, NOON, contentOf(`page ${number}`)));
    const { database } = made.archive;
    await database!.query(
      `update ${database!.schema}.notes set text = convert_to(jsonb_set(convert_from(text, 'UTF8')::jsonb,
         '{settings,crawl}', '{"privateNetworks": ["127.0.0.1/32"]}')::text, 'UTF8') where name = 'settings'`,
    );
    await made.archive.close();
    [one, two] = await Promise.all([start(), start()]);
  });
  after(async () => {
    for (const child of started) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    await cluster[Symbol.asyncDispose]();
  });

  async function start(): Promise<Server> {
    const directory = await cluster.machine(catalog);
    const child = spawn(process.execPath, [CHILD, directory, TOKEN, String(LEASE_MS)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    started.push(child);
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout }), 'line'),
      once(child, 'exit').then(() => assert.fail('the server ended early')),
    ]);
    return new Server(String(line), directory, child);
  }

  /** Submits jobs to one server until the other runs one. */
  async function submitFor(runner: Server, submitter: Server, kind: string): Promise<string> {
    for (let attempt = 0; attempt < 40; attempt++) {
      const { id } = await submitter.submit(kind);
      const job = await submitter.when(id, ({ state }) => state === 'running');
      if (runner.isNamed(job)) return id;
      await submitter.cancel(id);
      await submitter.over(id);
    }
    assert.fail('the other server runs no job');
  }

  test('a job of one server runs on another, is seen at both, and is cancelled from the first', async () => {
    const id = await submitFor(two, one, 'wait');
    const [atOne, atTwo] = [one, two].map((server) => server.watch(id, ({ state }) => state === 'cancelled'));
    await one.when(id, ({ progress }) => (progress?.done ?? 0) > 5);
    const asked = performance.now();
    await one.cancel(id);
    const [{ jobs }, { jobs: same }] = [await atOne!, await atTwo!];
    const tookMs = performance.now() - asked;
    assert.ok(tookMs < 2000, `${tookMs} ms`);
    for (const seen of [jobs, same]) {
      const done = seen.map(({ progress }) => progress?.done ?? 0);
      assert.deepEqual(
        done,
        done.toSorted((a, b) => a - b),
      );
      assert.ok(new Set(done).size > 1, 'progress is seen');
      assert.ok(seen.every((job) => two.isNamed(job) && /^wait runs in/.test(job.log[0] ?? 'wait runs in')));
    }
    assert.deepEqual(jobs.at(-1), same.at(-1));
  });

  test('what needs a file of one machine runs there, and others say where it is', async (t) => {
    const file = join(await temporaryDirectory(t), 'site.warc.gz');
    await writeWarc(file, 'site', 4);
    for (const server of [one, two]) {
      const { id } = await server.submit('add', { paths: [file] });
      const job = await server.over(id);
      assert.deepEqual([job.state, server.isNamed(job)], ['done', true]);
    }
    const exported = await one.over((await one.submit('export', { format: 'cdxj' })).id);
    assert.equal(exported.state, 'done', JSON.stringify(exported));
    const { href } = exported.report as { href: string };
    const [holder, other] = one.isNamed(exported) ? [one, two] : [two, one];
    assert.deepEqual(readdirSync(join(holder.directory, 'exports')), [exported.id]);
    const text = await (await holder.call(href)).text();
    assert.equal(text.trim().split('\n').length, 7);
    const refused = await other.call(href);
    const { error } = (await refused.json()) as { error: { code: string; message: string } };
    assert.deepEqual([refused.status, error.code], [409, 'FILE_ELSEWHERE']);
    assert.ok(error.message.endsWith(exported.server!), error.message);
    assert.equal((await other.call(`/api/exports/${exported.id}`, { method: 'DELETE' })).status, 409);
    assert.equal((await holder.call(`/api/exports/${exported.id}`, { method: 'DELETE' })).status, 200);
    assert.equal((await other.call(href)).status, 409);
  });

  test('a server that stops gives its jobs to another', async () => {
    const id = await submitFor(two, one, 'wait');
    const ended = once(two.process, 'exit');
    two.process.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    const taken = await one.when(id, (job) => job.state === 'running' && one.isNamed(job));
    assert.match(taken.log[1]!, /is stopping; the job begins again on another/);
    await one.cancel(id);
    await one.over(id);
  });

  test('jobs of a killed server begin again on another or fail with the reason, and a browser loses no change', async () => {
    two = await start();
    const again = await submitFor(two, one, 'wait');
    const lost = await submitFor(two, one, 'hold');
    const { lastId } = await two.watch(lost, ({ progress }) => (progress?.done ?? 0) > 1);
    two.process.kill('SIGKILL');
    await once(two.process, 'exit');
    const { jobs } = await one.watch(lost, ({ state }) => state === 'failed', lastId);
    assert.equal(jobs.at(-1)!.error?.code, 'JOB_INTERRUPTED');
    assert.match(jobs.at(-1)!.error!.message, new RegExp(`${new URL(two.address).port} stopped or lost its lease`));
    const taken = await one.when(again, (job) => job.state === 'running' && one.isNamed(job));
    assert.equal(taken.attempt, 2);
    const log = (await one.when(again, (job) => job.log.length === 3)).log;
    assert.match(log[1]!, /has ended; the job begins again on another/);
    await one.cancel(again);
    assert.equal((await one.over(again)).state, 'cancelled');
  });

  test('the crawl of a killed server is continued by another, and no page of it is missing', async (t) => {
    two = await start();
    const names = Array.from({ length: 25 }, (_, number) => `/page-${number}`);
    const asked: string[] = [];
    const site = createServer(({ url }, response) => {
      asked.push(url!);
      response.setHeader('content-type', 'text/html');
      response.end(`<title>${url}</title>${names.map((name) => `<a href="${name}">${name}</a>`).join('')}`);
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
    t.after(() => site.close());
    const root = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
    const { id } = await one.submit('crawl', { seeds: [root], collection: 'site', delayMs: 100, fresh: true });
    const running = await one.when(id, ({ progress }) => (progress?.done ?? 0) > 5);
    const [killed, other] = one.isNamed(running) ? [one, two] : [two, one];
    killed.process.kill('SIGKILL');
    const job = await other.over(id);
    assert.deepEqual([job.state, other.isNamed(job), job.attempt], ['done', true, 2], JSON.stringify(job));
    const found = (await (await other.call(`/cdx?url=${root}*&fl=original&output=json`)).json()) as string[][];
    assert.deepEqual(
      new Set(found.slice(1).map(([url]) => url)),
      new Set([root, ...[...names, '/robots.txt'].map((name) => new URL(name, root).href)]),
    );
    const again = asked.length - new Set(asked).size;
    assert.ok(again < 10, `${again} pages were asked for again`);
  });
});
