/**
 * Every fault at every request of every call on a volume, and whether the rules of part-volume.ts hold: an object has
 * all of its bytes or does not exist, the bytes of a name never change, and a call succeeds or fails with an error that
 * can be retried.
 */
import assert from 'node:assert/strict';
import { concat, PinakesError, type Random, utf8 } from '../../src/base/index.ts';
import { openS3Volume, type S3Volume } from '../../src/volume/index.ts';
import type { Fault, FaultProxy } from './fault-proxy.ts';
import { BUCKET, type S3Server } from './s3-servers.ts';
import { collect, randomBytes } from './volume.ts';

const LARGE = randomBytes(5 * 1024 * 1024 + 5);
const SMALL = randomBytes(30_000);
const JOINED = concat([SMALL.subarray(10), LARGE, SMALL.subarray(0, 100), LARGE.subarray(5)]);

/** The objects that a call works on, as they are before it. */
const BEFORE = new Map<string, Uint8Array>([
  ['large', LARGE],
  ['small', SMALL],
  ['old', utf8('an old one')],
]);

type Call = {
  readonly name: string;
  run(volume: S3Volume): Promise<unknown>;
  /** The outcome of a success. */
  readonly gives?: unknown;
  /** What a success leaves, and a failure may leave. Undefined: missing. */
  readonly leaves?: readonly [string, Uint8Array | undefined];
};

const CALLS: readonly Call[] = [
  { name: 'put', run: (volume) => volume.put('new', [SMALL, utf8('!')]), leaves: ['new', concat([SMALL, utf8('!')])] },
  { name: 'put again', run: (volume) => volume.put('small', [SMALL]), leaves: ['small', SMALL] },
  {
    name: 'join',
    run: (volume) =>
      volume.join('joined', [
        { name: 'small', offset: 10, length: SMALL.length - 10 },
        { name: 'large', offset: 0, length: LARGE.length },
        { name: 'small', offset: 0, length: 100 },
        { name: 'large', offset: 5, length: LARGE.length - 5 },
      ]),
    leaves: ['joined', JOINED],
  },
  { name: 'remove one', run: (volume) => volume.remove(['old']), leaves: ['old', undefined] },
  { name: 'remove', run: (volume) => volume.remove(['old', 'missing']), leaves: ['old', undefined] },
  {
    name: 'read',
    run: (volume) =>
      volume.read([
        { name: 'small', offset: 5, length: 100 },
        { name: 'old', offset: 3, length: 100 },
      ]),
    gives: [SMALL.slice(5, 105), new Uint8Array(utf8('old one'))],
  },
  { name: 'stream', run: async (volume) => collect(volume.stream('small', 7)), gives: SMALL.slice(7) },
  {
    name: 'stat',
    run: (volume) => volume.stat(['small', 'missing']),
    gives: [{ name: 'small', bytes: SMALL.length, sealed: true }, undefined],
  },
  {
    name: 'list',
    run: async (volume) => (await Array.fromAsync(volume.list())).flat().map(({ name }) => name),
    gives: ['large', 'old', 'small'],
  },
  {
    name: 'create',
    run: async (volume) => typeof (await volume.putIfAbsent('owner', utf8('mine'))),
    gives: 'string',
    leaves: ['owner', utf8('mine')],
  },
  {
    name: 'replace',
    run: async (volume) => {
      const { tag } = (await volume.readTagged('old')) ?? assert.fail();
      return typeof (await volume.putIfTag('old', tag, utf8('a new one')));
    },
    gives: 'string',
    leaves: ['old', utf8('a new one')],
  },
];

export function faultsOf(random: Random): Fault[] {
  return [
    { kind: 'request cut', at: random() },
    { kind: 'request cut', at: 0.999 },
    { kind: 'answer cut', at: random() },
    { kind: 'answer cut', at: 0.999 },
    { kind: 'answer lost' },
    { kind: 'refused', status: 500, code: 'InternalError' },
    { kind: 'refused', status: 503, code: 'SlowDown' },
    { kind: 'held' },
    { kind: 'twice' },
    { kind: 'damaged' },
  ];
}

/**
 * Runs every call with every fault at each of its requests, or a random share of these runs: a fifth of it for the call
 * that joins large objects. Returns how many runs there were.
 */
export async function tryAllFaults(
  server: S3Server,
  proxy: FaultProxy,
  random: Random,
  seed: number,
  share = 1,
): Promise<number> {
  const url = `s3://${BUCKET}/faults-${seed}`;
  const base = { credentials: server.credentials, clock: Date.now, writable: true, random };
  const direct = await openS3Volume('direct', url, { ...base, endpoint: server.endpoint });
  proxy.clear();
  const volume = await openS3Volume('far', url, { ...base, endpoint: proxy.endpoint, sleep: async () => undefined });
  let runs = 0;
  try {
    for (const [name, bytes] of BEFORE) await direct.put(name, [bytes]);
    for (const call of CALLS) {
      const requests = await requestsOf(call, volume, proxy);
      await restore(direct, call);
      for (const fault of faultsOf(random))
        for (let count = 1; count <= requests; count++) {
          if (share < 1 && random() > (requests > 4 ? share / 5 : share)) continue;
          const title = `${call.name}, ${fault.kind} ${'at' in fault ? fault.at : ''} at request ${count}, seed ${seed}`;
          proxy.setFault(count, fault);
          await checkRun(call, volume, direct, title);
          // The request that was held arrives after its repetition.
          if ((await proxy.release()) > 0) await checkState(call, direct, true, title);
          await restore(direct, call);
          runs++;
        }
      // With the same fault at every request, nothing succeeds by being asked again.
      proxy.setFaults(() => ({ kind: 'refused', status: 503, code: 'SlowDown' }));
      await assert.rejects(call.run(volume), isRetryable, call.name);
      await checkState(call, direct, false, `${call.name} that is refused each time`);
      runs++;
    }
  } finally {
    await volume.close();
    await direct.close();
  }
  return runs;
}

async function requestsOf(call: Call, volume: S3Volume, proxy: FaultProxy): Promise<number> {
  proxy.clear();
  await call.run(volume);
  return proxy.seen.length;
}

async function checkRun(call: Call, volume: S3Volume, direct: S3Volume, title: string): Promise<void> {
  let isDone = false;
  try {
    const given = await call.run(volume);
    isDone = true;
    if ('gives' in call) assert.deepEqual(given, call.gives, title);
  } catch (error) {
    if (!(error instanceof PinakesError)) throw error;
    assert.ok(isRetryable(error), `${title}: ${error.message}`);
  }
  await checkState(call, direct, isDone, title);
}

/** All objects are as they were, except the one of the call: after a failure it may be as before or as afterwards. */
async function checkState(call: Call, direct: S3Volume, isDone: boolean, title: string): Promise<void> {
  const allowed = new Map<string, (Uint8Array | undefined)[]>();
  for (const [name, bytes] of BEFORE) allowed.set(name, [bytes]);
  if (call.leaves) {
    const [name, bytes] = call.leaves;
    allowed.set(name, isDone ? [bytes] : [bytes, BEFORE.get(name)]);
  }
  for (const [name, versions] of allowed) {
    const [info] = await direct.stat([name]);
    // Large objects that no call changes are compared by their length.
    if (info && versions[0] === LARGE && info.bytes === LARGE.length) continue;
    const found = info && (await collect(direct.stream(name)));
    const isAllowed = versions.some((bytes) => (bytes && found ? Buffer.compare(bytes, found) === 0 : bytes === found));
    assert.ok(isAllowed, `${title}: ${name} has ${found?.length} bytes`);
  }
}

async function restore(direct: S3Volume, { leaves }: Call): Promise<void> {
  if (!leaves) return;
  const before = BEFORE.get(leaves[0]);
  if (before) await direct.put(leaves[0], [before]);
  else await direct.remove([leaves[0]]);
}

export function isRetryable(error: unknown): boolean {
  return error instanceof PinakesError && error.retryable;
}
