/** What every queue of jobs does (src/jobs/job-queue.ts). */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  isOver,
  type JobClaim,
  type JobHooks,
  type JobQueue,
  type NewJob,
  OPEN_MAX,
  OVER_MAX,
} from '../../src/jobs/index.ts';

export type JobQueueUnderTest = {
  /** Opens the queue, again after `close`. */
  open(): Promise<JobQueue>;
  /** Adds so many jobs of this state. */
  fill(queue: JobQueue, count: number, state: 'queued' | 'cancelled'): Promise<void>;
  dispose(): Promise<void>;
};

export const KINDS: ReadonlySet<string> = new Set(['work']);

let numbers = 0;

export function newJob(job: Partial<NewJob> = {}): NewJob {
  const place = { isCancellable: true, isResumable: false, isLocal: false };
  return { id: `job-${++numbers}`, kind: 'work', input: {}, origin: 'api', lane: undefined, ...place, ...job };
}

export async function submitted(queue: JobQueue, job: Partial<NewJob> = {}): Promise<string> {
  const outcome = await queue.submit(newJob(job));
  assert.equal(outcome.kind, 'submitted');
  return outcome.kind === 'submitted' ? outcome.job.id : '';
}

export async function claimed(queue: JobQueue): Promise<JobClaim> {
  const claim = await queue.claim(KINDS);
  assert.ok(claim, 'there should be a job to claim');
  await claim.durable;
  return claim;
}

/** Waits for something that the queue finds out by itself. */
export async function until<Value>(look: () => Promise<Value | undefined | false>, what: string): Promise<Value> {
  for (let waited = 0; ; waited += 10) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    assert.ok(waited < 20_000, `waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function jobQueueContract(name: string, make: () => Promise<JobQueueUnderTest>): void {
  describe(`${name}, as every queue of jobs`, () => {
    let under: JobQueueUnderTest;
    let queue: JobQueue;
    const over: string[] = [];
    const kept = new Set<string>();
    const hooks: JobHooks = {
      keeps: ({ id }) => kept.has(id),
      onOver: async ({ id, state }) => void over.push(`${id} ${state}`),
    };
    const stateOf = async (id: string) => (await queue.get(id))?.state;

    beforeEach(async () => {
      over.length = 0;
      kept.clear();
      under = await make();
      queue = await under.open();
      await queue.start(hooks);
    });
    afterEach(async () => {
      await queue.close();
      await under.dispose();
    });

    test('a job waits, is claimed once, runs and ends, and its hook is called', async () => {
      const id = await submitted(queue, { input: { depth: 2 }, lane: 'a' });
      const waiting = await queue.get(id);
      assert.deepEqual([waiting?.state, waiting?.input, waiting?.origin], ['queued', { depth: 2 }, 'api']);
      const claim = await claimed(queue);
      assert.deepEqual([claim.job.id, claim.job.input], [id, { depth: 2 }]);
      assert.equal(await queue.claim(KINDS), undefined);
      assert.equal(await stateOf(id), 'running');
      assert.equal(await queue.end(claim, { state: 'done', report: { pages: 3 } }), true);
      const job = await queue.get(id);
      assert.deepEqual([job?.state, job?.report], ['done', { pages: 3 }]);
      const times = [job!.createdAt, job!.startedAt!, job!.endedAt!].map(Date.parse);
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
      assert.deepEqual(over, [`${id} done`]);
    });

    test('jobs of a lane run one after another in their order, those of other lanes and without one beside', async () => {
      const [first, second] = [await submitted(queue, { lane: 'a' }), await submitted(queue, { lane: 'a' })];
      const other = await submitted(queue, { lane: 'b' });
      const free = [await submitted(queue), await submitted(queue)];
      const claims = [];
      for (let claim = await queue.claim(KINDS); claim; claim = await queue.claim(KINDS)) claims.push(claim);
      assert.deepEqual(
        claims.map(({ job }) => job.id),
        [first, other, ...free],
      );
      assert.deepEqual([await queue.isBusy('a'), await queue.isBusy('c')], [true, false]);
      await queue.end(claims[0]!, { state: 'done', report: {} });
      const next = await claimed(queue);
      assert.equal(next.job.id, second);
      for (const claim of [...claims.slice(1), next]) await queue.end(claim, { state: 'done', report: {} });
      assert.deepEqual(await queue.counts(), { queued: 0, running: 0, done: 5, failed: 0, cancelled: 0 });
    });

    test('jobs of a kind that is not asked for are not claimed', async () => {
      const id = await submitted(queue, { kind: 'foreign' });
      assert.equal(await queue.claim(KINDS), undefined);
      assert.equal((await queue.claim(new Set(['foreign'])))?.job.id, id);
    });

    test('what a job tells is kept, also when it fails, with the last hundred lines of its log', async () => {
      const id = await submitted(queue);
      const claim = await claimed(queue);
      for (let line = 0; line < 250; line++) queue.record(claim, { line: `line ${line} ${'x'.repeat(2000)}` });
      queue.record(claim, {
        progress: { done: 1, total: 2, unit: 'pages', detail: { new: 1 } },
        report: { half: true },
      });
      const running = await until(async () => {
        const job = await queue.get(id);
        return job?.progress && job;
      }, 'progress');
      assert.deepEqual(running.progress, { done: 1, total: 2, unit: 'pages', detail: { new: 1 } });
      queue.record(claim, { line: 'the last' });
      const error = { code: 'DISK_FULL', message: 'full', advice: 'Free some space.', where: '/archive' };
      await queue.end(claim, { state: 'failed', error });
      const job = await queue.get(id);
      assert.deepEqual([job?.state, job?.error, job?.report], ['failed', error, { half: true }]);
      assert.deepEqual([job!.log.length, job!.log.at(-1)], [100, 'the last']);
      assert.match(job!.log[0]!, /^line 151 x+$/);
      assert.equal(job!.log[0]!.length, 1000);
    });

    test('after its end nothing of a job changes', async () => {
      const id = await submitted(queue);
      const claim = await claimed(queue);
      await queue.end(claim, { state: 'done', report: { one: 1 } });
      const before = await queue.get(id);
      queue.record(claim, { line: 'late', report: { two: 2 } });
      assert.equal(await queue.end(claim, { state: 'cancelled' }), false);
      assert.equal(await queue.cancel(id), 'over');
      assert.deepEqual(await queue.get(id), before);
    });

    test('a waiting job is cancelled at once, and a running one is asked to stop, unless it may not be', async () => {
      const id = await submitted(queue, { lane: 'a' });
      const next = await submitted(queue, { lane: 'a' });
      const firm = await submitted(queue, { isCancellable: false });
      const claims = [await claimed(queue), await claimed(queue)];
      assert.equal(await queue.cancel(next), 'asked');
      assert.equal(await stateOf(next), 'cancelled');
      assert.equal(await queue.cancel(firm), 'refused');
      assert.equal(await queue.cancel(id), 'asked');
      await until(async () => claims[0]!.signal.aborted, 'the signal');
      assert.deepEqual([claims[0]!.reason, claims[1]!.signal.aborted], ['cancelled', false]);
      assert.equal(await stateOf(id), 'running');
      await queue.end(claims[0]!, { state: 'cancelled' });
      assert.equal(await stateOf(id), 'cancelled');
      assert.equal(await queue.cancel('nothing'), 'over');
    });

    test('changes have rising numbers, and a listener misses none', async () => {
      const seen = new Map<string, string[]>();
      let known = queue.lastChange;
      const unsubscribe = queue.subscribe(() => {
        for (const { job, change } of queue.changedSince(known)) {
          assert.ok(change > known, `${change} came after ${known}`);
          known = change;
          const states = seen.get(job.id) ?? [];
          if (states.at(-1) !== job.state) seen.set(job.id, [...states, job.state]);
        }
      });
      const ids = [await submitted(queue, { lane: 'a' }), await submitted(queue, { lane: 'a' })];
      for (const _ of ids) await queue.end(await claimed(queue), { state: 'done', report: {} });
      await until(async () => ids.every((id) => seen.get(id)?.at(-1) === 'done'), 'the ends');
      for (const id of ids) assert.deepEqual(seen.get(id), ['queued', 'running', 'done']);
      assert.equal(known, queue.lastChange);
      assert.deepEqual(queue.changedSince(known), []);
      unsubscribe();
    });

    test('a job that several find due is submitted once', async () => {
      const once = { key: 'crawl site', knownChange: queue.lastChange };
      const id = await submitted(queue, { once });
      assert.equal((await queue.submit(newJob({ once }))).kind, 'left-out');
      assert.equal((await queue.submit(newJob({ once: { ...once, key: 'crawl other' } }))).kind, 'submitted');
      const claim = await claimed(queue);
      assert.equal(claim.job.id, id);
      await queue.end(claim, { state: 'done', report: {} });
      assert.equal((await queue.submit(newJob({ once }))).kind, 'left-out', 'it has run since');
      await queue.list();
      assert.equal(
        (await queue.submit(newJob({ once: { ...once, knownChange: queue.lastChange } }))).kind,
        'submitted',
      );
    });

    test('any text is kept as it is', async () => {
      const odd = { 'nul \0': ['\ud800 lone', '"quoted" \\ é 漢 😀', "it's; drop table jobs"] };
      const id = await submitted(queue, { input: odd });
      const claim = await claimed(queue);
      queue.record(claim, { line: 'nul \0 and \ud800' });
      await queue.end(claim, { state: 'done', report: odd });
      const job = await queue.get(id);
      assert.deepEqual([job?.input, job?.report, job?.log], [odd, odd, ['nul \0 and \ud800']]);
    });

    test('too many open jobs are refused', async () => {
      await under.fill(queue, OPEN_MAX - 1, 'queued');
      await submitted(queue);
      assert.deepEqual(await queue.submit(newJob()), { kind: 'refused', why: 'full' });
    });

    test('the history drops the oldest jobs, but not those whose file is needed', async () => {
      const [old, file] = [await submitted(queue), await submitted(queue)];
      kept.add(file);
      for (const _ of [old, file]) await queue.end(await claimed(queue), { state: 'done', report: {} });
      await under.fill(queue, OVER_MAX, 'cancelled');
      await queue.cancel(await submitted(queue));
      assert.equal(await queue.get(old), undefined);
      assert.equal((await queue.list()).length, OVER_MAX + 1);
      assert.equal(await stateOf(file), 'done');
      await queue.release(file);
      await queue.cancel(await submitted(queue));
      assert.equal(await queue.get(file), undefined);
      assert.equal((await queue.list()).length, OVER_MAX);
    });

    test('the history is there when the queue is opened again', async () => {
      const [first, second] = [await submitted(queue), await submitted(queue)];
      const claim = await claimed(queue);
      queue.record(claim, { line: 'a line' });
      await queue.end(claim, { state: 'done', report: { pages: 1 } });
      await queue.end(await claimed(queue), { state: 'cancelled' });
      const before = await queue.list();
      await queue.close();
      queue = await under.open();
      assert.deepEqual(await queue.list(), before);
      assert.deepEqual(
        before.map(({ id }) => id),
        [second, first],
      );
      assert.ok(before.every(isOver));
      await queue.start(hooks);
      assert.deepEqual(await queue.list(), before);
    });

    test('a closed queue gives nothing out and takes nothing in', async () => {
      const local = await submitted(queue, { isLocal: true });
      await queue.close();
      assert.equal(await queue.claim(KINDS), undefined);
      assert.deepEqual(await queue.submit(newJob()), { kind: 'refused', why: 'stopping' });
      queue = await under.open();
      await queue.start(hooks);
      const job = await queue.get(local);
      assert.deepEqual([job?.state, job?.error?.code], ['failed', 'JOB_INTERRUPTED']);
    });
  });
}
