import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../base/index.ts';
import { pauseMs, type RetryPolicy, withRetries } from './retries.ts';

const POLICY: RetryPolicy = { triesMax: 8, timeMs: 60_000, isBounded: false };
const failure = (code: string, status?: number) =>
  Object.assign(new Error('failed'), { code, ...(status !== undefined && { $metadata: { httpStatusCode: status } }) });

async function triesOf(error: Error, policy = POLICY): Promise<{ tries: number; pauses: number[] }> {
  let tries = 0;
  const pauses: number[] = [];
  const settings = {
    random: seededRandom(1),
    sleep: async (ms: number) => void pauses.push(ms),
    onFailure: () => undefined,
    onRetry: () => undefined,
  };
  await assert.rejects(
    withRetries(policy, settings, undefined, async () => {
      tries++;
      throw error;
    }),
    (thrown) => thrown === error,
  );
  return { tries, pauses };
}

test('failures that may pass are tried eight times, with pauses that grow', async () => {
  const { tries, pauses } = await triesOf(failure('ECONNRESET'));
  assert.equal(tries, 8);
  for (let at = 2; at < pauses.length; at++) assert.ok(pauses[at]! > pauses[at - 2]!);
  assert.equal((await triesOf(failure('SlowDown', 503))).tries, 8);
  assert.equal((await triesOf(failure('Unknown', 500))).tries, 8);
});

test('an address where nothing listens is tried five times', async () => {
  assert.equal((await triesOf(failure('ECONNREFUSED'))).tries, 5);
});

test('what a person must fix is tried once', async () => {
  for (const error of [failure('AccessDenied', 403), failure('NotImplemented', 501), failure('NoSuchKey', 404)])
    assert.equal((await triesOf(error)).tries, 1);
});

test('a pause is between half of its full length and all of it', () => {
  assert.equal(
    pauseMs(1, () => 0),
    50,
  );
  assert.equal(
    pauseMs(3, () => 1),
    400,
  );
  assert.equal(
    pauseMs(30, () => 1),
    5_000,
  );
});

test('an aborted call fails with the reason of its signal, also in a pause', async () => {
  const control = new AbortController();
  const reason = new Error('not wanted');
  const settings = {
    random: () => 0,
    sleep: async (_: number, signal: AbortSignal) => {
      control.abort(reason);
      signal.throwIfAborted();
    },
    onFailure: () => undefined,
    onRetry: () => undefined,
  };
  await assert.rejects(
    withRetries(POLICY, settings, control.signal, () => Promise.reject(failure('ECONNRESET'))),
    (error) => error === reason,
  );
});
