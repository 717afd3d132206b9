import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import { assertHas, begin, openOn, segmentsIn, storeAll } from './bucket-trial.ts';
import { STOPPED_IN, stopAfter } from './stopped-owner.ts';
import { temporaryDirectory } from './trial-archive.ts';

/** `npm run trial -- stopped-owner` stops before every request. */
const STOPS_OF_KIND = 3;

const stop = (t: TestContext, kind: string, requests: number) =>
  stopAfter({ newDirectory: () => temporaryDirectory(t), kind, requests });

test('P1: a former owner that goes on in a rebuild seals nothing of its successor', async (t) => {
  // It lists the bucket after its successor has begun segments.
  for (const requests of [0, 1]) await stop(t, 'rebuild', requests);
});

for (const kind of Object.keys(STOPPED_IN))
  test(`I2, P1: an owner that is stopped and goes on loses nothing for its successor: ${kind}`, async (t) => {
    const seed = Math.floor(Math.random() * 1e9);
    t.diagnostic(`seed ${seed}`);
    const random = seededRandom(seed);
    const made = await stop(t, kind, Number.POSITIVE_INFINITY);
    for (let round = 0; round < STOPS_OF_KIND; round++) {
      const requests = Math.floor(random() * made);
      t.diagnostic(`stopped after ${requests} of ${made} requests`);
      await stop(t, kind, requests);
    }
  });

test('R3: a segment that a former owner seals late under a name of its own doubles nothing', async (t) => {
  const { bucket, archive: former } = await begin(t);
  await storeAll(former, ['a', 'bb']);
  const elsewhere = await temporaryDirectory(t);
  await cp(join(former.directory, 'archive.yaml'), join(elsewhere, 'archive.yaml'));
  const successor = await openOn(elsewhere, bucket, { seed: 2, takesOver: true });
  const [sealed] = segmentsIn(bucket);
  bucket.set(sealed!.replace(/\.s[\d-]+\./, '.s1-1.'), bucket.get(sealed!)!);
  await successor.rebuild();
  await assertHas(successor, ['a', 'bb']);
  await successor.close();
});
