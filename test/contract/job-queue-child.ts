/**
 * A server of a cluster that can be killed and stopped: `node job-queue-child.ts URL SCHEMA NAME LEASE_MS`. It claims
 * every job, and each tells a line ten times a second until it has to stop. It prints `ready`, `claimed ID`,
 * `stopped ID REASON` and `ended ID BOOLEAN`.
 */
import { randomUUID } from 'node:crypto';
import { Database } from '../../src/database/index.ts';
import { type JobClaim, PostgresJobQueue } from '../../src/jobs/index.ts';
import { KINDS } from './job-queue.ts';

const [url, schema, server, leaseMs] = process.argv.slice(2) as [string, string, string, string];

const print = (...words: unknown[]) => process.stdout.write(`${words.join(' ')}\n`);

const database = await Database.open({ url, schema });
const queue = await PostgresJobQueue.open({
  database,
  server,
  newId: () => `<urn:uuid:${randomUUID()}>`,
  stopwatch: () => performance.now(),
  leaseMs: Number(leaseMs),
  pollMs: 100,
});
await queue.start({ keeps: () => false, onOver: async () => {} });
print('ready');

let isClaiming = true;
for (;;) {
  const claim = isClaiming ? await queue.claim(KINDS).catch(() => undefined) : undefined;
  if (claim) void run(claim);
  else await new Promise((resolve) => setTimeout(resolve, 50));
}

async function run(claim: JobClaim): Promise<void> {
  const { id } = claim.job;
  print('claimed', id);
  for (let line = 1; !claim.signal.aborted; line++) {
    queue.record(claim, { line: `${server} ${line}`, progress: { done: line, unit: 'lines' } });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  // One that has lost its claim takes no other job, so that the test sees who does.
  if (claim.isLost) isClaiming = false;
  print('stopped', id, claim.reason);
  print('ended', id, await queue.end(claim, { state: 'done', report: { server } }));
}
