/** An archive that moves from a directory into a cluster, with a real PostgreSQL and a real volume server. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Archive, createArchive } from '../../src/archive/index.ts';
import { contentOf, NOON, page, payloadAt } from '../archive/trial-archive.ts';
import { pinakes, pinakesJson } from '../journeys/pinakes-process.ts';
import { noPostgres, TestCluster } from './cluster-sample.ts';

const CHILD = join(import.meta.dirname, 'copying-child.ts');
const lines = (archive: Archive) => Array.fromAsync(archive.exportCdxj({}));

describe('an archive that moves into a cluster', { skip: noPostgres }, () => {
  let cluster: TestCluster;
  let root: string;
  let archives = 0;
  before(async () => {
    cluster = await TestCluster.start();
    root = mkdtempSync(join(tmpdir(), 'pinakes-move-'));
  });
  after(async () => {
    rmSync(root, { recursive: true });
    await cluster[Symbol.asyncDispose]();
  });

  /** An archive in a directory with its captures in a bucket, one of them deleted. Returns its lines. */
  async function embedded(): Promise<{ directory: string; before: string[] }> {
    const directory = join(root, `archive-${++archives}`);
    await createArchive(directory);
    const archive = await cluster.open(directory);
    await archive.addVolume({ name: 'far', ...cluster.bucket(`moved-${archives}`) });
    await archive.removeVolume('main');
    for (let number = 0; number < 6; number++)
      await archive.store(page(`http://a.example/${number}`, NOON + number, contentOf(`content ${number % 4}`)));
    await archive.delete({ url: 'http://a.example/3' });
    await archive.createSnapshot('then');
    await archive.close();
    const again = await cluster.open(directory);
    const before = await lines(again);
    await again.close();
    return { directory, before };
  }

  test('has the same captures there, for all machines, and what was deleted stays so', async () => {
    const { directory, before } = await embedded();
    const catalog = cluster.newCatalog();
    const [plan] = pinakesJson(directory, 'catalog', 'copy', '-a', '.', '--to', catalog, '--dry-run', '--json');
    assert.deepEqual([plan!.captures, plan!.obstacles], [5, []]);
    assert.equal(existsSync(join(directory, 'catalog')), true);
    const [report] = pinakesJson(directory, 'catalog', 'copy', '-a', '.', '--to', catalog, '--json');
    assert.deepEqual([report!.captures, report!.contents, report!.dryRun], [5, 3, false]);
    assert.equal(existsSync(join(directory, 'catalog')), false);
    const [one, other] = [await cluster.open(directory), await cluster.open(await cluster.machine(catalog))];
    assert.deepEqual(await lines(one), before);
    assert.deepEqual(
      other.listSnapshots().map(({ name }) => name),
      ['then'],
    );
    await one.store(page('http://b.example/', NOON, contentOf('content 0')));
    await other.store(page('http://c.example/', NOON, contentOf('content 9')));
    assert.equal(String(await payloadAt(other, 'http://a.example/5')), String(Buffer.from(contentOf('content 1'))));
    const whole = (await lines(one)).map((line) => line.replace(/\.s\d+\.warc/, '.warc'));
    await other.rebuild();
    assert.deepEqual(
      (await lines(one)).map((line) => line.replace(/\.s\d+\.warc/, '.warc')),
      whole,
    );
    const { errors, warnings } = await one.verify();
    assert.deepEqual([errors, warnings], [0, 0]);
    await Promise.all([one.close(), other.close()]);
  });

  for (const stage of ['captures', 'settings', 'done'])
    test(`is whole in one place when the copy is killed at ${stage}`, async () => {
      const { directory, before } = await embedded();
      const catalog = cluster.newCatalog();
      const { signal } = spawnSync(process.execPath, [CHILD, directory, catalog, stage], { env: process.env });
      assert.equal(signal, 'SIGKILL');
      const old = await cluster.open(directory);
      assert.equal(old.cluster !== undefined, stage === 'done');
      assert.deepEqual(await lines(old), before);
      await old.store(page('http://b.example/', NOON, contentOf('after the kill')));
      const since = await lines(old);
      await old.close();
      if (stage !== 'done') {
        const { code, err } = pinakes(directory, 'catalog', 'copy', '-a', '.', '--to', catalog);
        assert.equal(code, 0, err);
      }
      const moved = await cluster.open(await cluster.machine(catalog));
      assert.equal((await lines(moved)).length, since.length);
      assert.equal(
        String(await payloadAt(moved, 'http://b.example/')),
        String(Buffer.from(contentOf('after the kill'))),
      );
      const { errors, warnings } = await moved.verify();
      assert.deepEqual([errors, warnings], [0, 0]);
      await moved.close();
    });

  test('is refused with a directory that is written to, and in a schema that has another archive', async () => {
    const directory = join(root, 'refused');
    await createArchive(directory);
    const catalog = cluster.newCatalog();
    const refused = pinakes(directory, 'catalog', 'copy', '-a', '.', '--to', catalog);
    assert.equal(refused.code, 2);
    assert.match(refused.err, /the volume main is a directory/);
    const { catalog: taken, archive } = await cluster.archive();
    const { directory: whole, before } = await embedded();
    const other = pinakes(whole, 'catalog', 'copy', '-a', '.', '--to', taken);
    assert.equal(other.code, 2);
    assert.match(other.err, /has the archive test; name another schema/);
    assert.deepEqual([(await archive.totals()).captures], [0]);
    await archive.close();
    const still = await cluster.open(whole);
    assert.deepEqual(await lines(still), before);
    await still.close();
  });
});
