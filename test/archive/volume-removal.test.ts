/** Volumes that are removed from an archive. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openArchive } from '../../src/archive/index.ts';
import { leaveTombstones } from './opened-parts.ts';
import { contentOf, NOON, page, payloadAt, trialOptions } from './trial-archive.ts';
import { problemsOf, twoVolumes, urlOf } from './two-volumes.ts';

const COUNT = 4;

test('an empty volume can be removed, and its directory can be added again under another name', async (t) => {
  const { archive, second } = await twoVolumes(t, COUNT);
  writeFileSync(join(second, 'notes.txt'), 'mine');
  await assert.rejects(archive.removeVolume('second'), { code: 'VOLUME_NOT_EMPTY', detail: '1 segment' });
  await assert.rejects(archive.removeVolume('third'), { code: 'VOLUME_UNKNOWN' });
  await archive.migrate('second', 'main');
  await archive.removeVolume('second');
  await assert.rejects(archive.removeVolume('main'), { code: 'BAD_ARGUMENT', message: /the only one/ });
  assert.deepEqual(readdirSync(second).sort(), ['notes.txt']);
  await assert.rejects(archive.store(page('http://a.example/', NOON, contentOf('a')), { volume: 'second' }), {
    code: 'VOLUME_UNKNOWN',
  });
  await archive.addVolume({ name: 'third', path: second });
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  assert.deepEqual(
    (await again.listVolumes()).map(({ name, failure }) => [name, failure]),
    [
      ['main', undefined],
      ['third', undefined],
    ],
  );
  assert.deepEqual(await payloadAt(again, urlOf('second', 3)), Buffer.from(contentOf('second 3')));
  assert.deepEqual(await problemsOf(again), []);
  await again.close();
});

test('a volume that has records of deletions or tombstones, or is missing, cannot be removed', async (t) => {
  const { archive, second } = await twoVolumes(t, COUNT);
  await archive.setVolumeWritable('main', false);
  await archive.migrate('second', 'main').catch(() => {});
  await archive.setVolumeWritable('main', true);
  await archive.migrate('second', 'main');
  await archive.setVolumeWritable('main', false);
  await archive.delete({ url: urlOf('main', 3) });
  await assert.rejects(archive.removeVolume('second'), { code: 'VOLUME_NOT_EMPTY', detail: '1 segment' });
  await leaveTombstones(archive, (await archive.segments()).find(({ deadBytes }) => deadBytes > 0)!, 'second');
  await assert.rejects(archive.removeVolume('second'), { detail: '1 segment, 1 file of tombstones' });
  renameSync(second, `${second}-unplugged`);
  await assert.rejects(archive.removeVolume('second'), { code: 'VOLUME_MISSING', message: /while it is available/ });
  mkdirSync(second);
  await assert.rejects(archive.removeVolume('second'), { code: 'VOLUME_MISSING' });
  assert.equal(existsSync(join(`${second}-unplugged`, '.pinakes-volume')), true);
  assert.deepEqual(
    archive.connector.volumes.map(({ name }) => name),
    ['main', 'second'],
  );
});

test('the volume of linked files can be removed once the last linked file was migrated', async (t) => {
  const { archive, second } = await twoVolumes(t, COUNT);
  const [name] = readdirSync(join(second, 'default'));
  const file = join(archive.directory, 'mine.warc.gz');
  await archive.setVolumeWritable('second', false);
  writeFileSync(file, '');
  renameSync(join(second, 'default', name!.replace(/\.open$/, '')), file);
  const { files } = await archive.add([file], { inPlace: true, collection: 'mine', again: true });
  assert.equal(files, 1);
  await assert.rejects(archive.removeVolume('linked'), { code: 'VOLUME_NOT_EMPTY' });
  await archive.migrate('linked', 'main');
  await archive.removeVolume('linked');
  assert.deepEqual(
    archive.connector.volumes.map(({ name: volume }) => volume),
    ['main', 'second'],
  );
});
