/** A mirror in a bucket of our own volume server. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openArchive, restoreMirror } from '../../src/archive/index.ts';
import { startVolumeServerProcess } from '../volume-server/volume-server-process.ts';
import { answers, contentOf, makeArchive, NOON, page, temporaryDirectory, trialOptions } from './trial-archive.ts';

test('a mirror in a bucket is synced, searched, checked and restored', async (t) => {
  await using server = await startVolumeServerProcess();
  process.env.AWS_ACCESS_KEY_ID = server.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = server.secretAccessKey;
  const clock = () => Date.now();
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 6000 }, clock });
  const { endpoint, bucket } = server;
  const place = { target: `s3://${bucket}/attic`, endpoint, region: 'us-east-1' };
  await archive.mirrors.add({ name: 'attic', ...place });
  const { key } = await archive.store(page('http://secret.example/', NOON, contentOf('secret')));
  for (let n = 0; n < 2; n++) await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`)));
  await archive.mirrors.sync('attic');
  const { takedown } = await archive.takeDown({ keys: [key] }, { reason: 'asked', by: 'Ana' });
  await archive.compact();
  const early = await archive.takedownLog.check(takedown, { by: 'Ana' });
  assert.deepEqual([early.isGone, early.findings.map((found) => found.place)], [false, ['mirror attic']]);
  await archive.mirrors.sync('attic');
  const late = await archive.takedownLog.check(takedown, { by: 'Ana' });
  assert.deepEqual([late.isGone, late.unsearched], [true, []]);
  assert.ok(late.places.some(({ place: name, records }) => name === 'mirror attic' && records > 0));
  assert.deepEqual((await archive.mirrors.check('attic')).problems, []);
  const directory = join(await temporaryDirectory(t), 'restored');
  await restoreMirror(place, directory, { clock });
  const restored = await openArchive(directory, trialOptions({ seed: 2 }));
  t.after(() => restored.close());
  assert.deepEqual(await answers(restored), await answers(archive));
});
