import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Type } from 'typebox';
import { captureId, createArchive } from '../../src/archive/index.ts';
import type { JobContext, JobKind } from '../../src/server/index.ts';
import { catalogOf } from '../archive/opened-parts.ts';
import {
  type JobReply,
  leaveUpload,
  openServed,
  type Served,
  scratch,
  served,
  servedAt,
  storeDays,
  writeWarc,
} from './served-archive.ts';

/** Jobs that wait until the test releases them, so that the test can look at running jobs. */
class Waiting implements JobKind {
  readonly name = 'wait';
  readonly input = Type.Object({ number: Type.Integer() }, { additionalProperties: false });
  readonly begun: number[] = [];
  readonly contexts: JobContext[] = [];
  readonly #gates = new Map<number, PromiseWithResolvers<void>>();

  async run(context: JobContext): Promise<unknown> {
    const { number } = context.input as { number: number };
    this.begun.push(number);
    this.contexts.push(context);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    context.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
    await Promise.race([this.#gate(number).promise, aborted]);
    return { number };
  }

  letGo(number: number): void {
    this.#gate(number).resolve();
  }

  #gate(number: number): PromiseWithResolvers<void> {
    const gate = this.#gates.get(number) ?? Promise.withResolvers<void>();
    this.#gates.set(number, gate);
    return gate;
  }
}

async function begin({ call }: Served, kind: string, input: object): Promise<JobReply> {
  const reply = await call('/api/jobs', { json: { kind, input } });
  assert.equal(reply.status, 202, reply.bytes.toString());
  return reply.json as unknown as JobReply;
}

async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function stateOf({ call }: Served, id: string): Promise<string> {
  return ((await call(`/api/jobs/${id}`)).json as unknown as JobReply).state;
}

test('writing jobs run one after another and other jobs in parallel, and the newest job is listed first', async (t) => {
  const waiting = new Waiting();
  const one = await served(t, { jobKinds: [waiting] });
  await storeDays(one.archive, 'http://a.test/', [1]);
  const first = await begin(one, 'wait', { number: 1 });
  const second = await begin(one, 'wait', { number: 2 });
  await until(() => (waiting.begun.length > 0 ? true : undefined));
  const verify = await begin(one, 'verify', {});
  assert.equal((await one.overJob(verify.id)).state, 'done');
  assert.deepEqual(waiting.begun, [1]);
  assert.equal(await stateOf(one, second.id), 'queued');
  const listed = (await one.call('/api/jobs?limit=2')).json as unknown as { items: JobReply[]; next: string };
  assert.deepEqual(
    listed.items.map(({ id }) => id),
    [verify.id, second.id],
  );
  const rest = (await one.call(`/api/jobs?after=${listed.next}`)).json as unknown as { items: JobReply[] };
  assert.deepEqual(
    rest.items.map(({ id }) => id),
    [first.id],
  );
  waiting.letGo(1);
  waiting.letGo(2);
  assert.deepEqual((await one.overJob(second.id)).report, { number: 2 });
  assert.deepEqual(waiting.begun, [1, 2]);
});

test('running and waiting jobs can be cancelled', async (t) => {
  const waiting = new Waiting();
  const one = await served(t, { jobKinds: [waiting] });
  const first = await begin(one, 'wait', { number: 1 });
  const second = await begin(one, 'wait', { number: 2 });
  const third = await begin(one, 'wait', { number: 3 });
  await until(() => (waiting.begun.length > 0 ? true : undefined));
  const cancelled = await one.call(`/api/jobs/${second.id}/cancel`, { method: 'POST' });
  assert.equal((cancelled.json as unknown as JobReply).state, 'cancelled');
  await one.call(`/api/jobs/${first.id}/cancel`, { method: 'POST' });
  assert.equal((await one.overJob(first.id)).state, 'cancelled');
  await until(() => (waiting.begun.length > 1 ? true : undefined));
  waiting.letGo(3);
  assert.equal((await one.overJob(third.id)).state, 'done');
  assert.deepEqual(waiting.begun, [1, 3]);
  assert.equal(await stateOf(one, first.id), 'cancelled');
});

test('a job that fails by a bug is reported as one, with the last hundred lines of its log and without its scratch files', async (t) => {
  let scratchOfJob = '';
  const chatty: JobKind = {
    name: 'chat',
    input: Type.Object({}),
    run: async ({ say, scratch: directory }) => {
      scratchOfJob = directory;
      writeFileSync(join(directory, 'half'), 'done');
      for (let line = 0; line < 250; line++) say(`line ${line} ${'x'.repeat(2000)}`);
      throw new TypeError('undefined is not a function');
    },
  };
  const one = await served(t, { jobKinds: [chatty] });
  const job = await one.overJob((await begin(one, 'chat', {})).id);
  assert.equal(job.state, 'failed');
  assert.equal(job.error?.code, 'INTERNAL');
  assert.equal(job.log.length, 100);
  assert.match(job.log[0]!, /^line 150 x+$/);
  assert.ok(job.log.every((line) => line.length <= 1000));
  assert.ok(scratchOfJob !== '' && !existsSync(scratchOfJob));
});

type ServerEvent = { readonly id: string; readonly job: JobReply };

/** Reads events as a browser does, until a condition on them is true. */
async function eventsUntil(
  one: Served,
  path: string,
  isEnough: (events: ServerEvent[]) => boolean,
  lastEventId?: string,
  onOpen?: () => void,
): Promise<ServerEvent[]> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const response = await fetch(`${one.server.uiAddress}${path}`, { headers });
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal(response.headers.get('x-accel-buffering'), 'no', 'a proxy must forward events at once');
  onOpen?.();
  const events: ServerEvent[] = [];
  let text = '';
  for await (const piece of response.body!) {
    text += Buffer.from(piece).toString();
    const parts = text.split('\n\n');
    text = parts.pop()!;
    for (const part of parts) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1];
      if (field('event') === 'job') events.push({ id: field('id')!, job: JSON.parse(field('data')!) as JobReply });
    }
    if (isEnough(events)) break;
  }
  return events;
}

test('every change is an event, and a client that reconnects gets only the events it missed', async (t) => {
  const waiting = new Waiting();
  const one = await served(t, { jobKinds: [waiting] });
  const old = await begin(one, 'wait', { number: 1 });
  waiting.letGo(1);
  await one.overJob(old.id);
  let id = '';
  const events = await eventsUntil(
    one,
    '/api/jobs/events',
    (seen) => seen.some(({ job }) => job.id === id && job.state === 'done'),
    undefined,
    async () => {
      id = (await begin(one, 'wait', { number: 2 })).id;
      const context = await until(() => waiting.contexts[1]);
      context.progress({ done: 1, total: 2, unit: 'pages' });
      waiting.letGo(2);
    },
  );
  const states = events.filter(({ job }) => job.id === id).map(({ job }) => job.state);
  assert.ok(states.includes('running') && states.at(-1) === 'done', states.join(' '));
  assert.equal(events[0]!.job.id, old.id);
  const third = await begin(one, 'wait', { number: 3 });
  waiting.letGo(3);
  await one.overJob(third.id);
  const missed = await eventsUntil(
    one,
    '/api/jobs/events',
    (seen) => seen.some(({ job }) => job.id === third.id && job.state === 'done'),
    events.at(-1)!.id,
  );
  assert.ok(missed.every(({ job }) => job.id === third.id));
  const own = await eventsUntil(one, `/api/jobs/${third.id}/events`, (seen) => seen.length > 0);
  assert.deepEqual(
    own.map(({ job }) => job.id),
    [third.id],
  );
  // A HEAD request ends at once.
  const head = await one.call('/api/jobs/events', { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'text/event-stream; charset=utf-8']);
  const all = await eventsUntil(one, '/api/jobs/events', (seen) => seen.length >= 3, 'another-17');
  assert.deepEqual(new Set(all.map(({ job }) => job.id)), new Set([old.id, id, third.id]));
});

test('jobs of a killed server are shown as interrupted, with their input and upload to run them again', async (t) => {
  const directory = scratch(t);
  await createArchive(directory);
  const upload = '00000000-0000-4000-8000-000000000001-site.warc.gz';
  mkdirSync(join(directory, 'uploads'));
  await writeWarc(join(directory, 'uploads', upload), 'site', 4);
  writeFileSync(join(directory, 'uploads', `${upload}.part`), 'half of');
  writeFileSync(join(directory, 'uploads', '00000000-0000-4000-8000-000000000002-old.warc.gz'), 'old');
  const common = { origin: 'api', createdAt: '2024-03-01T10:00:00Z', log: [] };
  const lines = [
    { id: 'a', kind: 'add', state: 'queued', input: { upload }, ...common },
    { id: 'a', kind: 'add', state: 'running', input: { upload }, ...common },
    { id: 'b', kind: 'verify', state: 'done', input: {}, report: {}, ...common },
  ].map((job) => JSON.stringify(job));
  writeFileSync(join(directory, 'jobs.jsonl'), `${lines.join('\n')}\n{"id":"c","kind":"ver`);
  const one = await openServed(directory);
  t.after(async () => {
    await one.server.close();
    await one.archive.close();
  });
  const { items } = (await one.call('/api/jobs')).json as unknown as { items: JobReply[] };
  assert.deepEqual(
    items.map(({ id, state, error }) => [id, state, error?.code]),
    [
      ['b', 'done', undefined],
      ['a', 'failed', 'JOB_INTERRUPTED'],
    ],
  );
  assert.deepEqual(readdirSync(join(directory, 'uploads')), [upload]);
  const again = await begin(one, 'add', items[1]!.input);
  const over = await one.overJob(again.id);
  assert.deepEqual([over.state, over.report?.captures], ['done', 4]);
  assert.deepEqual(readdirSync(join(directory, 'uploads')), []);
});

test('the file of an interrupted upload can be removed, unless a job is adding it', async (t) => {
  const directory = scratch(t);
  await createArchive(directory);
  const uploads = ['job-0', 'job-1'].map((id) => leaveUpload(directory, id, Buffer.from('waiting')));
  const held = Promise.withResolvers<void>();
  const add: JobKind = { name: 'add', input: Type.Object({}), run: () => held.promise };
  const one = await servedAt(t, directory, { jobKinds: [add] });
  const remove = async (id: string) => (await one.call(`/api/uploads/${id}`, { method: 'DELETE' })).status;
  assert.equal((await one.call('/api/uploads/job-0', { method: 'DELETE', token: '' })).status, 401);
  assert.equal(await remove('job-0'), 200);
  assert.deepEqual(readdirSync(join(directory, 'uploads')), [uploads[1]]);
  assert.equal(await remove('job-0'), 404);
  assert.equal(await remove('no-job'), 404);
  const again = await begin(one, 'add', { upload: uploads[1] });
  assert.equal(await remove('job-1'), 409);
  held.resolve();
  await one.overJob(again.id);
  assert.equal(await remove('job-1'), 404);
});

test('all waiting uploads of a killed server are kept until they are added', async (t) => {
  const directory = scratch(t);
  await createArchive(directory);
  mkdirSync(join(directory, 'uploads'));
  const lines = Array.from({ length: 300 }, (_, number) => {
    const upload = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}-site.warc.gz`;
    writeFileSync(join(directory, 'uploads', upload), 'waiting');
    const job = { id: `job-${number}`, kind: 'add', state: 'queued', origin: 'api', input: { upload } };
    return JSON.stringify({ ...job, createdAt: '2024-03-01T10:00:00Z', log: [] });
  });
  writeFileSync(join(directory, 'jobs.jsonl'), `${lines.join('\n')}\n`);
  // The second start reads the history that the first start wrote.
  for (let start = 0; start < 2; start++) {
    const one = await openServed(directory);
    try {
      assert.equal(readdirSync(join(directory, 'uploads')).length, 300);
      assert.equal((await one.call('/api/jobs/job-0')).status, 200);
      await one.overJob((await begin(one, 'verify', {})).id);
      assert.equal((await one.call('/api/jobs/job-0')).status, 200);
    } finally {
      await one.server.close();
      await one.archive.close();
    }
  }
  const last = await openServed(directory);
  t.after(async () => {
    await last.server.close();
    await last.archive.close();
  });
  const { input } = (await last.call('/api/jobs/job-0')).json as unknown as JobReply;
  await last.overJob((await begin(last, 'add', input)).id);
  assert.equal(readdirSync(join(directory, 'uploads')).length, 299);
  // The file of the job is gone, so the job is not needed any more.
  await until(async () => ((await last.call('/api/jobs/job-0')).status === 404 ? true : undefined));
});

test('a stopping server asks its jobs to stop, and shows them as interrupted when it starts again', async (t) => {
  const directory = scratch(t);
  await createArchive(directory);
  const waiting = new Waiting();
  const before = await openServed(directory, { jobKinds: [waiting] });
  const running = await begin(before, 'wait', { number: 1 });
  const queued = await begin(before, 'wait', { number: 2 });
  await until(() => (waiting.begun.length > 0 ? true : undefined));
  await before.server.close();
  await before.archive.close();
  const after = await openServed(directory, { jobKinds: [waiting] });
  t.after(async () => {
    await after.server.close();
    await after.archive.close();
  });
  for (const { id } of [running, queued]) {
    const job = (await after.call(`/api/jobs/${id}`)).json as unknown as JobReply;
    assert.deepEqual([job.state, job.error?.code], ['failed', 'JOB_INTERRUPTED']);
  }
  assert.deepEqual(waiting.begun, [1]);
});

test('the history is limited, and the oldest jobs are dropped first', async (t) => {
  const one = await served(t, {
    jobKinds: [{ name: 'nothing', input: Type.Object({}), run: async () => ({}) }],
  });
  let last = '';
  const first = (await begin(one, 'nothing', {})).id;
  const exported = await one.overJob((await begin(one, 'export', { format: 'cdxj' })).id);
  for (let number = 0; number < 210; number++) last = (await begin(one, 'nothing', {})).id;
  await one.overJob(last);
  assert.equal((await one.call(`/api/jobs/${first}`)).status, 404);
  assert.equal((await one.call(`/api/jobs/${last}`)).status, 200);
  // A job whose file can still be downloaded is kept.
  assert.equal((await one.call(`/api/jobs/${exported.id}`)).status, 200);
  assert.equal((await one.call((exported.report as { href: string }).href)).status, 200);
  const lines = readFileSync(join(one.directory, 'jobs.jsonl'), 'utf8').split('\n').length;
  assert.ok(lines < 1500, `${lines} lines`);
});

test('the next page of jobs can be read even if the last job of the previous page was dropped', async (t) => {
  let now = Date.parse('2024-03-01T10:00:00Z');
  const one = await served(t, {
    clock: () => now,
    jobKinds: [{ name: 'nothing', input: Type.Object({}), run: async () => ({}) }],
  });
  const ids: string[] = [];
  const add = async (count: number) => {
    for (let number = 0; number < count; number++, now += 500) ids.push((await begin(one, 'nothing', {})).id);
    await one.overJob(ids.at(-1)!);
  };
  const exported = await one.overJob((await begin(one, 'export', { format: 'cdxj' })).id);
  await add(3);
  const page = async (after: string | undefined, limit: number) => {
    const { json } = await one.call(`/api/jobs?limit=${limit}${after === undefined ? '' : `&after=${after}`}`);
    return { ids: (json.items as JobReply[]).map(({ id }) => id), next: json.next as string | undefined };
  };
  const first = await page(undefined, 2);
  assert.deepEqual(first.ids, [ids[2], ids[1]]);
  assert.deepEqual((await page(first.next, 200)).ids, [ids[0], exported.id]);
  await add(205);
  await until(async () => ((await one.call(`/api/jobs/${ids[1]}`)).status === 404 ? true : undefined));
  assert.deepEqual((await page(first.next, 200)).ids, [exported.id]);
});

test('a deletion needs the token of a preview of the same selection, and is refused when more would be deleted', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 2, 3]);
  await storeDays(one.archive, 'http://b.test/', [1]);
  const selection = { url: 'http://a.test/' };
  const shown = (await one.call('/api/deletes/preview', { json: { selection } })).json;
  assert.deepEqual(shown.preview, {
    captures: 3,
    addresses: 1,
    contents: 2,
    contentBytes: (shown.preview as { contentBytes: number }).contentBytes,
    contentsKept: 1,
    examples: ['http://a.test/'],
    exampleCaptures: [3],
  });
  const refused = async (json: object, path = '/api/deletes') => {
    const reply = await one.call(path, { json });
    assert.deepEqual([reply.status, (reply.json.error as { code: string }).code], [409, 'DELETE_UNSEEN']);
  };
  await refused({ selection: { prefix: 'http://a.test/' }, token: shown.token });
  await refused({ kind: 'delete', input: { selection, token: 'made up' } }, '/api/jobs');
  await storeDays(one.archive, 'http://a.test/', [9, 9, 9, 9]);
  await refused({ selection, token: shown.token });
  const again = (await one.call('/api/deletes/preview', { json: { selection } })).json;
  const job = (await one.call('/api/deletes', { json: { selection, token: again.token } })).json as unknown as JobReply;
  const over = await one.overJob(job.id);
  assert.deepEqual([over.state, over.report?.captures], ['done', 7]);
  const left = (await one.call('/api/urls')).json as { items: { url: string }[] };
  assert.deepEqual(
    left.items.map(({ url }) => url),
    ['http://b.test/'],
  );
});

test('a deletion by key gives back one reference, by id it takes one capture, and with `all` every one', async (t) => {
  const one = await served(t);
  const body = Buffer.from('shared '.repeat(50));
  let key = '';
  for (const time of [1000, 2000]) ({ key } = await one.archive.store({ kind: 'bytes', time, body }));
  const captured = await one.archive.store({
    kind: 'resource',
    url: 'http://c.test/',
    time: 3000,
    mime: 'text/plain',
    body,
  });
  const preview = async (selection: object) => (await one.call('/api/deletes/preview', { json: { selection } })).json;
  const remove = async (selection: object) => {
    const { token } = await preview(selection);
    const job = (await one.call('/api/deletes', { json: { selection, token } })).json as unknown as JobReply;
    const { captures, contents } = (await one.overJob(job.id)).report as { captures: number; contents: number };
    return [captures, contents];
  };
  assert.deepEqual(await remove({ key }), [1, 0]);
  assert.equal((await one.archive.referenceOf(key)).time, 1000);
  assert.deepEqual(await remove({ key }), [1, 0]);
  assert.equal(((await preview({ key })).error as { code: string }).code, 'CONTENT_HAS_URLS');
  assert.equal(((await preview({ all: true })).error as { code: string }).code, 'BAD_REQUEST');
  await one.archive.store({ kind: 'resource', url: 'http://d.test/', time: 4000, mime: 'text/plain', body });
  assert.deepEqual(await remove({ capture: captureId(captured.capture) }), [1, 0]);
  assert.deepEqual(await remove({ key, all: true }), [1, 1]);
});

test('a takedown needs the number of captures of its preview, and lists what it barred', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 2, 3]);
  await storeDays(one.archive, 'http://b.test/', [1]);
  const asked = { urls: ['http://a.test/'] };
  const preview = (await one.call('/api/takedowns/preview', { json: asked })).json;
  assert.deepEqual([preview.captures, preview.contents, preview.urls], [3, 0, 1]);
  const run = async (captures: number) => {
    const job = (await one.call('/api/takedowns', { json: { ...asked, captures, reason: 'asked', by: 'Ana' } }))
      .json as unknown as JobReply;
    return one.overJob(job.id);
  };
  const refused = await run(2);
  assert.deepEqual([refused.state, refused.error?.code], ['failed', 'DELETE_UNSEEN']);
  assert.equal((await run(3)).report?.captures, 3);
  const { urls, isGone } = (await one.call('/api/takedowns')).json as { urls: string[]; isGone: boolean };
  assert.deepEqual([urls.length, isGone], [1, false]);
  await begin(one, 'compact', {}).then(({ id }) => one.overJob(id));
  assert.equal((await one.call('/api/takedowns')).json.isGone, true);
  assert.equal((await one.call('/api/takedowns', { token: '' })).status, 401);
  const check = (await one.call('/api/takedowns/check', { json: { takedown: 1, by: 'Bo' } }))
    .json as unknown as JobReply;
  assert.equal((await one.overJob(check.id)).report?.isGone, true);
  const { takedowns, problems } = (await one.call('/api/takedowns/log')).json as {
    takedowns: { by: string; reason: string; isDone: boolean; search: { by: string; isGone: boolean } }[];
    problems: string[];
  };
  const [{ by, reason, isDone, search } = assert.fail()] = takedowns;
  assert.deepEqual([by, reason, isDone, search.by, search.isGone, problems], ['Ana', 'asked', true, 'Bo', true, []]);
  assert.equal(((await one.call('/api/takedowns/1')).json.listed as unknown[]).length, 3);
  for (const reason of [undefined, '', ' '])
    assert.equal((await one.call('/api/takedowns', { json: { ...asked, captures: 0, reason } })).status, 400);
});

test('a preview is valid for an hour', async (t) => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const one = await served(t, { clock: () => now });
  await storeDays(one.archive, 'http://a.test/', [1]);
  const selection = { url: 'http://a.test/' };
  const { token } = (await one.call('/api/deletes/preview', { json: { selection } })).json;
  now += 3_600_001;
  assert.equal((await one.call('/api/deletes', { json: { selection, token } })).status, 409);
});

test('a running rebuild cannot be cancelled', async (t) => {
  const one = await served(t);
  for (let site = 0; site < 20; site++) await storeDays(one.archive, `http://s${site}.test/`, [1, 2, 3]);
  const gate = Promise.withResolvers<void>();
  const catalog = catalogOf(one.archive);
  const clear = catalog.clear.bind(catalog);
  catalog.clear = (notes) => gate.promise.then(() => clear(notes));
  const job = await begin(one, 'rebuild', {});
  await until(async () => ((await stateOf(one, job.id)) === 'running' ? true : undefined));
  const reply = await one.call(`/api/jobs/${job.id}/cancel`, { method: 'POST' });
  assert.deepEqual([reply.status, (reply.json.error as { code: string }).code], [409, 'NOT_CANCELLABLE']);
  gate.resolve();
  const over = await one.overJob(job.id);
  assert.deepEqual([over.state, over.report?.captures], ['done', 60]);
});

test('with the policy `copies`, the server copies contents with many references after a job that stored them', async (t) => {
  const directory = join(scratch(t), 'archive');
  await createArchive(directory, { policies: { copies: { 2: 3 } } });
  const one = await servedAt(t, directory, {});
  await one.archive.addVolume({ name: 'second', path: join(directory, 'volumes/second') });
  await storeDays(one.archive, 'http://a.test/', [1, 1, 1, 2]);
  const file = join(directory, '..', 'more.warc.gz');
  await writeWarc(file, 'more', 2);
  const add = await begin(one, 'add', { paths: [file] });
  assert.equal((await one.overJob(add.id)).state, 'done');
  const listed = async () => (await one.call('/api/jobs')).json as unknown as { items: JobReply[] };
  const made = await until(async () => (await listed()).items.find(({ kind }) => kind === 'copies'));
  const { state, report } = await one.overJob(made.id);
  assert.deepEqual([state, report?.copies, report?.lacking], ['done', 1, 0]);
});
