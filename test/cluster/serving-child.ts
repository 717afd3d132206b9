/**
 * A server of an archive in a cluster, which can be killed: `node serving-child.ts DIRECTORY TOKEN LEASE_MS`. It has
 * two kinds of jobs more, which run until they are stopped: `wait`, which other servers can take up, and `hold`, which
 * they cannot. It prints its address.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Type } from 'typebox';
import { openArchive } from '../../src/archive/index.ts';
import { type JobKind, startServer } from '../../src/server/index.ts';
import { SHORT_TIMES } from './cluster-sample.ts';

const [directory, token, jobLeaseMs] = process.argv.slice(2) as [string, string, string];

function waiting(name: string, isResumable: boolean): JobKind {
  return {
    name,
    isResumable: () => isResumable,
    lane: name,
    input: Type.Object({}),
    run: async ({ signal, progress, say }) => {
      say(`${name} runs in ${process.pid}`);
      for (let done = 0; ; done++) {
        progress({ done, unit: 'rounds' });
        await delay(100, undefined, { signal });
      }
    },
  };
}

const newId = () => `<urn:uuid:${randomUUID()}>`;
const archive = await openArchive(directory, { clock: Date.now, newId, clusterTimes: SHORT_TIMES, purpose: 'test' });
const server = await startServer({
  archive,
  host: '127.0.0.1',
  port: 0,
  replayPort: 0,
  token,
  clock: Date.now,
  stopwatch: () => performance.now(),
  newId,
  version: '0.0.0-test',
  jobKinds: [waiting('wait', true), waiting('hold', false)],
  jobLeaseMs: Number(jobLeaseMs),
});
process.once('SIGTERM', async () => {
  await server.close();
  await archive.close();
});
process.stdout.write(`${server.uiAddress}\n`);
