/** An archive whose opening is aborted. */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dropCatalog, openArchive } from '../../src/archive/index.ts';
import {
  allCaptures,
  audit,
  contentOf,
  makeArchive,
  NOON,
  page,
  temporaryDirectory,
  trialOptions,
} from './trial-archive.ts';

test('an opening and the adding of a volume can be aborted, and the next opening catalogues the rest', async (t) => {
  const made = await makeArchive(t, { policies: { segmentBytesMax: 64 * 1024 } });
  for (let n = 0; n < 90; n++) await made.store(page(`http://a.example/${n}`, NOON + n, contentOf(`page ${n}`)));
  assert.ok((await made.segments()).length > 2);
  await made.close();
  await dropCatalog(made.directory);
  const stop = new AbortController();
  const options = { ...trialOptions({ seed: 2 }), signal: stop.signal, onOpening: () => stop.abort() };
  await assert.rejects(openArchive(made.directory, options), { name: 'AbortError' });
  const again = await openArchive(made.directory, trialOptions({ seed: 3 }));
  assert.equal((await allCaptures(again)).length, 90);
  assert.deepEqual(await audit(again), []);
  await again.close();

  const other = await makeArchive(t);
  const leaving = new AbortController();
  const adding = { signal: leaving.signal, onProgress: () => leaving.abort() };
  const volume = { name: 'second', path: join(await temporaryDirectory(t), 'second') };
  cpSync(join(made.directory, 'volumes/main/default'), join(volume.path, 'default'), { recursive: true });
  await assert.rejects(other.addVolume(volume, adding), { name: 'AbortError' });
  await other.close();
  const whole = await openArchive(other.directory, trialOptions({ seed: 4 }));
  t.after(() => whole.close());
  assert.equal((await allCaptures(whole)).length, 90);
  assert.deepEqual(await audit(whole), []);
});
