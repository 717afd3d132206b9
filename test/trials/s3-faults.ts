/**
 * `npm run trial -- s3-faults [ROUNDS] [SEED]`: every fault at every request of every call on a volume on S3, over the
 * volume server and versitygw, and a put of more than 64 MB.
 */
import assert from 'node:assert/strict';
import { seededRandom } from '../../src/base/index.ts';
import { openS3Volume } from '../../src/volume/index.ts';
import { FaultProxy } from '../contract/fault-proxy.ts';
import { tryAllFaults } from '../contract/s3-faults.ts';
import { BUCKET, noVersitygw, type S3Server, startVersitygw, startVolumeServer } from '../contract/s3-servers.ts';
import { collect, randomBytes } from '../contract/volume.ts';

export async function tryS3Faults([
  rounds = '5',
  seed = String(Date.now() % 1_000_000),
]: readonly string[]): Promise<void> {
  await tryOn(await startVolumeServer(), Number(rounds), Number(seed));
  if (noVersitygw) process.stdout.write(`${noVersitygw}\n`);
  else await tryOn(await startVersitygw(), Number(rounds), Number(seed));
}

async function tryOn(server: S3Server, rounds: number, seed: number): Promise<void> {
  process.stdout.write(`${server.title}\n`);
  const proxy = await FaultProxy.start(server.endpoint);
  try {
    for (let round = 0; round < rounds; round++) {
      const roundSeed = seed + round;
      const runs = await tryAllFaults(server, proxy, seededRandom(roundSeed), roundSeed);
      process.stdout.write(`round ${round + 1}, seed ${roundSeed}: ${runs} runs\n`);
    }
    const volume = await openS3Volume('far', `s3://${BUCKET}/large`, { ...server, clock: Date.now, writable: true });
    const pieces = Array.from({ length: 7 }, (_, index) => randomBytes(10_000_000 + index));
    await volume.put('large', pieces);
    assert.equal(Buffer.compare(await collect(volume.stream('large')), Buffer.concat(pieces)), 0);
    await volume.close();
    process.stdout.write('an object of 70 MB is as it was put\n');
  } finally {
    await proxy.close();
    await server.close();
  }
}
