import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { PinakesError } from './error.ts';
import { ThreadDied, ThreadPool } from './thread-pool.ts';

let directory: string;
let script: URL;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'pinakes-threads-'));
  const path = join(directory, 'worker.ts');
  const front = import.meta.resolve('./index.ts');
  writeFileSync(
    path,
    `import { threadId } from 'node:worker_threads';
     import { answerJobs, PinakesError } from ${JSON.stringify(front)};
     answerJobs(async (job, tell) => {
       if (job?.parts) for (let part = 0; part < job.parts; part++) tell([job.name, part]);
       if (job?.parts) return job.name;
       if (job === 'fail') throw new PinakesError('FILE_MISSING', { where: 'here', detail: 'it was there' });
       if (job === 'break') throw new Error('broken');
       if (job === 'who') return threadId;
       if (job === 'die') process.exit(1);
       if (job === 'leak') for (const held = []; ; ) held.push(new Array(100_000).fill(job));
       if (job instanceof Uint8Array) return job.map((byte) => byte + 1);
       return job * 2;
     }, (result) => (result instanceof Uint8Array ? [result.buffer] : []));`,
  );
  script = pathToFileURL(path);
});
after(() => rmSync(directory, { recursive: true, force: true }));

test('each job gets its own answer, with any number of threads', async () => {
  for (const threads of [1, 2]) {
    const pool = new ThreadPool<number, number>(script, { threads });
    const jobs = Array.from({ length: 50 }, (_, job) => job);
    assert.deepEqual(
      await Promise.all(jobs.map((job) => pool.run(job))),
      jobs.map((job) => job * 2),
    );
    await pool.close();
  }
});

test('memory is transferred both ways', async () => {
  const pool = new ThreadPool<Uint8Array, Uint8Array>(script, { threads: 1 });
  const bytes = new Uint8Array([1, 2, 3]);
  assert.deepEqual(await pool.run(bytes, [bytes.buffer]), new Uint8Array([2, 3, 4]));
  assert.equal(bytes.length, 0);
  await pool.close();
});

test('a failed job is answered with the reason, and the thread goes on', async () => {
  const pool = new ThreadPool<unknown, unknown>(script, { threads: 1 });
  const [failed, broken, next] = await Promise.allSettled([pool.run('fail'), pool.run('break'), pool.run(21)]);
  const { reason } = failed as PromiseRejectedResult;
  assert.ok(reason instanceof PinakesError);
  assert.deepEqual([reason.code, reason.where, reason.detail], ['FILE_MISSING', 'here', 'it was there']);
  assert.match(String((broken as PromiseRejectedResult).reason), /broken/);
  assert.deepEqual(next, { status: 'fulfilled', value: 42 });
  await pool.close();
});

test('the jobs of a thread that dies fail, and another thread does the rest', async () => {
  for (const deadly of ['die', 'leak']) {
    const pool = new ThreadPool<unknown, unknown>(script, { threads: 1, limits: { maxOldGenerationSizeMb: 24 } });
    const [died, ...others] = await Promise.allSettled([deadly, 1, 2, 3].map((job) => pool.run(job)));
    assert.ok((died as PromiseRejectedResult).reason instanceof ThreadDied, deadly);
    // The next job was assigned to the thread too. The waiting jobs are done by another thread.
    assert.deepEqual(
      others.slice(1).map((other) => (other as PromiseFulfilledResult<unknown>).value),
      [4, 6],
    );
    await pool.close();
  }
});

test('parts of a result arrive before the answer, at the caller of their job', async () => {
  const pool = new ThreadPool<{ name: string; parts: number }, string, [string, number]>(script, { threads: 2 });
  await Promise.all(
    Array.from({ length: 20 }, async (_, number) => {
      const job = { name: `job ${number}`, parts: 1 + (number % 4) };
      const told: [string, number][] = [];
      assert.equal(await pool.run(job, [], (part) => told.push(part)), job.name);
      assert.deepEqual(
        told,
        Array.from({ length: job.parts }, (_, part) => [job.name, part]),
      );
    }),
  );
  await pool.close();
});

test('closing a pool fails its unfinished jobs, and a closed pool takes no more jobs', async () => {
  const pool = new ThreadPool<unknown, unknown>(script, { threads: 1 });
  const jobs = [1, 2, 3, 4].map((job) => pool.run(job));
  const ended = Promise.allSettled(jobs);
  await pool.close();
  for (const { status } of await ended) assert.equal(status, 'rejected');
  await assert.rejects(pool.run(1), /ended/);
});

test('the idle threads of a closed pool serve the next pool of the same script and limits', async () => {
  const workedBy = async (limits: { maxOldGenerationSizeMb: number }) => {
    const pool = new ThreadPool<unknown, unknown>(script, { threads: 1, limits });
    const thread = await pool.run('who');
    await pool.close();
    return thread;
  };
  const first = await workedBy({ maxOldGenerationSizeMb: 30 });
  assert.equal(await workedBy({ maxOldGenerationSizeMb: 30 }), first);
  assert.notEqual(await workedBy({ maxOldGenerationSizeMb: 31 }), first);
});

test('a thread that was busy when its pool closed is not used again', async () => {
  const limits = { maxOldGenerationSizeMb: 32 };
  const pool = new ThreadPool<unknown, unknown>(script, { threads: 1, limits });
  const thread = await pool.run('who');
  const last = pool.run(1).catch(() => {});
  await pool.close();
  await last;
  const next = new ThreadPool<unknown, unknown>(script, { threads: 1, limits });
  assert.notEqual(await next.run('who'), thread);
  await next.close();
});
