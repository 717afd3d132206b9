import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PinakesError } from '../../src/base/index.ts';
import { Database } from '../../src/database/index.ts';
import { isOver, type JobHooks, type JobQueue, PostgresJobQueue } from '../../src/jobs/index.ts';
import { claimed, jobQueueContract, KINDS, newJob, submitted, until } from './job-queue.ts';
import { noPostgres, PostgresServer } from './postgres-server.ts';

const LEASE_MS = 1500;
const CHILD = fileURLToPath(new URL('job-queue-child.ts', import.meta.url));
/** What a server hears that gets no messages. */
const DEAF = { [Symbol.dispose]: () => {} };
const HOOKS: JobHooks = { keeps: () => false, onOver: async () => {} };

describe('a queue of jobs on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let schemas = 0;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.dispose());

  const openDatabase = (schema: string) => Database.open({ url: server.url, schema });
  const openOn = (database: Database, name = 'one', times = { leaseMs: LEASE_MS, pollMs: 100 }) =>
    PostgresJobQueue.open({
      database,
      server: name,
      newId: () => `<urn:uuid:${randomUUID()}>`,
      stopwatch: () => performance.now(),
      ...times,
    });

  jobQueueContract('PostgresJobQueue', async () => {
    const database = await openDatabase(`jobs ${++schemas}`);
    const { schema } = database;
    const fill = async (_: JobQueue, count: number, state: string) => {
      await database.query(
        `with history as (update ${schema}.job_history set change = change + $1 returning change - $1 as before)
         insert into ${schema}.jobs (id, number, change, kind, state, origin, input, is_cancellable, is_resumable, is_local,
           created_at) select 'fill-' || n, before + n, before + n, 'fill', $2, 'api', '{}', true, false, false, 0
         from history, generate_series(1, $1::int) n`,
        [count, state],
      );
    };
    return { open: () => openOn(database), fill, dispose: () => database.close() };
  });

  type Cluster = { readonly schema: string; readonly database: Database; readonly queues: JobQueue[] };

  /** Servers of one cluster, each with connections of its own. */
  async function cluster(t: TestContext, names: readonly string[]): Promise<Cluster> {
    const schema = `cluster ${++schemas}`;
    const databases = await Promise.all(names.map(() => openDatabase(schema)));
    const queues: JobQueue[] = [];
    for (const [index, name] of names.entries()) {
      const queue = await openOn(databases[index]!, name);
      await queue.start(HOOKS);
      queues.push(queue);
    }
    t.after(async () => {
      for (const queue of queues) await queue.close();
      for (const database of databases) await database.close();
    });
    return { schema, database: databases[0]!, queues };
  }

  /** Another server in a process of its own. */
  async function child(t: TestContext, { schema }: Cluster, name: string) {
    const spawned = spawn(process.execPath, [CHILD, server.url, schema, name, String(LEASE_MS)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => spawned.kill('SIGKILL'));
    const lines: string[] = [];
    createInterface({ input: spawned.stdout }).on('line', (line) => lines.push(line));
    await until(async () => lines.includes('ready'), 'the start of a server');
    return { process: spawned as ChildProcess, says: (line: string) => until(async () => lines.includes(line), line) };
  }

  test('a listener on another server sees every job as it is, in the order of the changes', async (t) => {
    const { queues, database } = await cluster(t, ['one', 'two', 'three']);
    const [one, two, three] = queues as [JobQueue, JobQueue, JobQueue];
    const seen = new Map<string, { change: number; lines: number; state: string }>();
    const changes: number[] = [];
    let known = 0;
    three.subscribe(() => {
      for (const { job, change } of three.changedSince(known)) {
        known = change;
        changes.push(change);
        seen.set(job.id, { change, lines: job.log.length, state: job.state });
      }
    });
    const work = async (queue: JobQueue) => {
      for (let round = 0; round < 12; round++) {
        const id = await submitted(queue);
        const claim = await queue.claim(KINDS);
        if (!claim) continue;
        for (let line = 0; line < 3; line++) queue.record(claim, { line: `${id} ${line}` });
        await queue.end(claim, { state: 'done', report: {} });
      }
    };
    await Promise.all([work(one), work(two), work(two)]);
    for (let claim = await one.claim(KINDS); claim; claim = await one.claim(KINDS))
      await one.end(claim, { state: 'done', report: {} });
    const truth = await database.query(`select id, state, change from ${database.schema}.jobs order by change`);
    const last = truth.at(-1)!.change as number;
    await until(async () => known >= last, 'the last change');
    assert.deepEqual(
      changes,
      changes.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(changes).size, changes.length);
    assert.deepEqual(
      truth.map(({ id, state, change }) => [id, state, change]),
      [...seen].map(([id, { state, change }]) => [id, state, change]).toSorted((a, b) => Number(a[2]) - Number(b[2])),
    );
    assert.equal(truth.length, 36);
    assert.deepEqual(await three.list(), await one.list());
  });

  test('of 200 jobs and four servers each job has one runner, and each lane one job at a time', async (t) => {
    const names = ['one', 'two', 'three', 'four'];
    const { queues } = await cluster(t, names);
    const runs = new Map<string, string>();
    const lanes = new Map<string, string>();
    const lanesOf = [undefined, 'a', 'b', 'c'] as const;
    const laneOf = new Map<string, string>();
    let isSubmitted = false;
    const run = async (queue: JobQueue) => {
      for (;;) {
        const claim = await queue.claim(KINDS);
        if (!claim) {
          if (isSubmitted && (await queue.list()).every(isOver)) return;
          await delay(20);
          continue;
        }
        const { id } = claim.job;
        assert.equal(runs.get(id), undefined, `${id} ran on ${runs.get(id)} and on ${queue.server}`);
        runs.set(id, queue.server!);
        const lane = laneOf.get(id);
        if (lane) assert.equal(lanes.get(lane), undefined, `${id} runs beside ${lanes.get(lane)}`);
        if (lane) lanes.set(lane, id);
        await delay(1);
        if (lane) lanes.delete(lane);
        assert.equal(await queue.end(claim, { state: 'done', report: {} }), true);
      }
    };
    const submit = async (queue: JobQueue, server: number) => {
      for (let number = 0; number < 50; number++) {
        const job = newJob({ lane: lanesOf[(number + server) % 4] });
        if (job.lane) laneOf.set(job.id, job.lane);
        await queue.submit(job);
      }
    };
    const running = Promise.all(queues.map(run));
    await Promise.all(queues.map(submit));
    isSubmitted = true;
    await running;
    assert.equal(runs.size, 200);
    assert.deepEqual(new Set(runs.values()), new Set(names));
    assert.deepEqual((await queues[0]!.counts()).done, 200);
  });

  test('a job is cancelled from any server, and a queued one of a server is settled there', async (t) => {
    const settled: string[] = [];
    const { queues, schema } = await cluster(t, ['one']);
    const database = await openDatabase(schema);
    const two = await openOn(database, 'two');
    await two.start({ ...HOOKS, onOver: async ({ id }) => void settled.push(id) });
    t.after(async () => {
      await two.close();
      await database.close();
    });
    const id = await submitted(two);
    const local = await submitted(two, { isLocal: true });
    const claim = await claimed(two);
    const asked = performance.now();
    assert.equal(await queues[0]!.cancel(id), 'asked');
    await until(async () => claim.signal.aborted, 'the signal');
    const tookMs = performance.now() - asked;
    assert.ok(tookMs < 1000, `${tookMs} ms`);
    await two.end(claim, { state: 'cancelled' });
    assert.equal((await queues[0]!.get(id))?.state, 'cancelled');
    assert.equal(await queues[0]!.claim(KINDS), undefined, 'the other job is of server two');
    await queues[0]!.cancel(local);
    await until(async () => settled.includes(local), 'the hook of its server');
  });

  test('messages that are lost delay a cancellation, and no more', async (t) => {
    const { queues, database } = await cluster(t, ['one']);
    const two = await openOn(without(database, { listen: () => DEAF }), 'two');
    await two.start(HOOKS);
    t.after(() => two.close());
    const id = await submitted(queues[0]!);
    const claim = await until(() => two.claim(KINDS), 'a claim');
    await queues[0]!.cancel(id);
    await until(async () => claim.signal.aborted, 'the signal');
    await two.end(claim, { state: 'cancelled' });
  });

  test('the jobs of a killed server are begun again or fail with the reason, and those of a living one go on', async (t) => {
    const some = await cluster(t, ['one', 'two']);
    const [one, two] = some.queues as [JobQueue, JobQueue];
    const own = await submitted(one);
    const claim = await claimed(one);
    const killed = await child(t, some, 'killed');
    const lost = await submitted(two, { lane: 'a' });
    const again = await submitted(two, { lane: 'b', isResumable: true });
    const behind = await submitted(two, { lane: 'a' });
    const cancelled = await submitted(two, { lane: 'c', isResumable: true });
    for (const id of [lost, again, cancelled]) await killed.says(`claimed ${id}`);
    await until(async () => (await two.get(again))?.log.length !== 0, 'a line of the job');
    await two.cancel(cancelled);
    await killed.says(`stopped ${cancelled} cancelled`);
    await killed.says(`ended ${cancelled} true`);
    killed.process.kill('SIGKILL');
    await once(killed.process, 'exit');
    assert.equal(await two.claim(KINDS), undefined, 'the lease of the killed server has not ended');
    const failed = await until(async () => {
      const job = await two.get(lost);
      return job?.state === 'failed' && job;
    }, 'the end of the lease');
    assert.equal(failed.error?.code, 'JOB_INTERRUPTED');
    assert.match(failed.error!.message, /the server killed stopped or lost its lease/);
    const claims = [await claimed(two), await claimed(two)];
    assert.deepEqual(new Set(claims.map(({ job }) => job.id)), new Set([again, behind]));
    const taken = await two.get(again);
    assert.match(taken!.log.at(-1)!, /the server killed has ended; the job begins again on another/);
    assert.deepEqual([taken!.server, claim.signal.aborted, (await two.get(own))?.state], ['two', false, 'running']);
    for (const taking of claims) assert.equal(await two.end(taking, { state: 'done', report: {} }), true);
    assert.equal(await one.end(claim, { state: 'done', report: {} }), true);
  });

  test('a server that paused for longer than its lease stops its jobs, and can neither tell nor end anything', async (t) => {
    const some = await cluster(t, ['one']);
    const one = some.queues[0]!;
    const paused = await child(t, some, 'paused');
    const id = await submitted(one, { isResumable: true });
    await paused.says(`claimed ${id}`);
    paused.process.kill('SIGSTOP');
    const claim = await until(() => one.claim(KINDS), 'the end of the lease');
    assert.equal(claim.job.id, id);
    one.record(claim, { line: 'one' });
    paused.process.kill('SIGCONT');
    await paused.says(`stopped ${id} lost`);
    await paused.says(`ended ${id} false`);
    await delay(700);
    const job = await one.get(id);
    assert.deepEqual([job?.state, job?.server, job?.log.at(-1)], ['running', 'one', 'one']);
    assert.equal(await one.end(claim, { state: 'done', report: { server: 'one' } }), true);
    assert.deepEqual((await one.get(id))?.report, { server: 'one' });
  });

  test('the database refuses a server whose lease has ended, whatever the server believes', async (t) => {
    const { queues, database } = await cluster(t, ['one']);
    const one = queues[0]!;
    const times = { leaseMs: 120_000, pollMs: 60_000 };
    const two = await openOn(without(database, { listen: () => DEAF }), 'two', times);
    await two.start(HOOKS);
    t.after(() => two.close());
    const ids = [await submitted(two, { isResumable: true }), await submitted(two)];
    const [claim, other] = [await claimed(two), await claimed(two)];
    const { schema } = database;
    await database.query(`update ${schema}.job_servers set lease_until = clock_timestamp() where name = 'two'`);
    assert.equal(await two.end(other, { state: 'done', report: {} }), false);
    const taken = await until(() => one.claim(KINDS), 'the end of the lease');
    assert.equal(taken.job.id, ids[0]);
    two.record(claim, { line: 'late' });
    await delay(200);
    assert.equal(claim.signal.aborted, true);
    assert.equal(await two.end(claim, { state: 'done', report: {} }), false);
    assert.equal(await two.giveBack(claim), false);
    const jobs = await Promise.all(ids.map((id) => one.get(id)));
    assert.deepEqual(
      jobs.map((job) => [job?.state, job?.server, job?.log.length]),
      [
        ['running', 'one', 1],
        ['failed', 'two', 0],
      ],
    );
  });

  test('a job that no server survives fails in the end', async (t) => {
    const some = await cluster(t, ['one']);
    const one = some.queues[0]!;
    const id = await submitted(one, { isResumable: true });
    await some.database.query(`update ${some.database.schema}.jobs set deaths = 2`);
    const killed = await child(t, some, 'third');
    await killed.says(`claimed ${id}`);
    killed.process.kill('SIGKILL');
    await until(async () => (await one.get(id))?.state !== 'running', 'the end of the lease');
    const job = await one.get(id);
    assert.deepEqual([job?.state, job?.error?.code], ['failed', 'JOB_INTERRUPTED']);
    assert.match(job!.error!.message, /3 servers have ended while they ran the job, the last was third/);
  });

  test('a server that leaves gives back what others can run, and the rest fails', async (t) => {
    const { queues, schema } = await cluster(t, ['one']);
    const database = await openDatabase(schema);
    t.after(() => database.close());
    const leaving = await openOn(database, 'leaving');
    await leaving.start(HOOKS);
    const running = await submitted(leaving, { isResumable: true });
    const claim = await claimed(leaving);
    const [local, waiting] = [await submitted(leaving, { isLocal: true }), await submitted(leaving)];
    assert.equal(await leaving.giveBack(claim), true);
    assert.equal(await leaving.end(claim, { state: 'done', report: {} }), false);
    await leaving.close();
    const one = queues[0]!;
    assert.deepEqual([(await claimed(one)).job.id, (await claimed(one)).job.id], [running, waiting]);
    assert.match((await one.get(running))!.log[0]!, /the server leaving is stopping/);
    const failed = await one.get(local);
    assert.match(failed!.error!.message, /the server leaving, which alone has what the job needs, stopped/);
  });

  test('a change whose answer was lost is made once', async (t) => {
    const { queues, database } = await cluster(t, ['one']);
    let answersLost = 0;
    const transact: Database['transact'] = async (work) => {
      const value = await database.transact(work);
      if (answersLost-- > 0) throw new PinakesError('CATALOG_UNREACHABLE', { where: 'a test' });
      return value;
    };
    const two = await openOn(without(database, { transact }), 'two');
    await two.start(HOOKS);
    t.after(() => two.close());
    answersLost = 2;
    const id = await submitted(two, { lane: 'a' });
    assert.equal((await two.list()).length, 1);
    answersLost = 1;
    const claim = await claimed(two);
    assert.deepEqual([claim.job.id, claim.epoch], [id, 1]);
    two.record(claim, { line: 'first' });
    answersLost = 1;
    await until(async () => (await queues[0]!.get(id))?.log.length === 1, 'the first line');
    two.record(claim, { line: 'second' });
    answersLost = 2;
    assert.equal(await two.end(claim, { state: 'done', report: { pages: 1 } }), true);
    const job = await queues[0]!.get(id);
    assert.deepEqual([job?.state, job?.log, job?.report], ['done', ['first', 'second'], { pages: 1 }]);
    assert.equal(await two.claim(KINDS), undefined);
  });

  test('users and passwords in URLs are not in the database', async (t) => {
    const { queues, database } = await cluster(t, ['one']);
    const one = queues[0]!;
    const url = 'https://user:secret@host.test/a?b=x@y';
    const id = await submitted(one, { input: { seeds: [url] } });
    const claim = await claimed(one);
    one.record(claim, { line: `fetching ${url}`, progress: { done: 1, unit: 'pages', message: url }, report: { url } });
    const error = { code: 'X', message: `cannot fetch ${url}`, advice: '' };
    await one.end(claim, { state: 'failed', error });
    const rows = await database.query(
      `select j::text, l::text from ${database.schema}.jobs j join ${database.schema}.job_lines l on l.job = j.id`,
    );
    assert.equal(rows.length, 1);
    assert.doesNotMatch(JSON.stringify(rows), /secret/);
    assert.deepEqual((await one.get(id))?.input, { seeds: ['https://host.test/a?b=x@y'] });
  });
});

/** A database with some methods replaced. */
function without(database: Database, replaced: Partial<Database>): Database {
  const { schema, where, query } = database;
  return {
    ...{ schema, where, query },
    transact: database.transact.bind(database),
    notify: database.notify.bind(database),
    listen: database.listen.bind(database),
    ...replaced,
  } as Database;
}
