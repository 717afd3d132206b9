/** An archive that several machines have open: one PostgreSQL, one bucket, a directory for each machine. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Archive } from '../../src/archive/index.ts';
import { PinakesError } from '../../src/base/index.ts';
import { type CommitGroup, openPostgresCatalog } from '../../src/catalog/index.ts';
import { allCaptures, contentOf, NOON, page, payloadAt } from '../archive/trial-archive.ts';
import { noPostgres, SHORT_TIMES, TestCluster } from './cluster-sample.ts';

/** Lets the rounds of a cluster pass that read what others have changed. */
const ROUND_MS = 500;

describe('an archive in a cluster', { skip: noPostgres }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.start();
  });
  after(() => cluster[Symbol.asyncDispose]());

  test('what one machine stores, the other reads within a second, and neither stores it twice', async () => {
    const { catalog, archive: one } = await cluster.archive();
    const other = await cluster.open(await cluster.machine(catalog));
    await one.store(page('http://a.example/', NOON, contentOf('first')));
    assert.equal(String(await payloadAt(other, 'http://a.example/')), String(Buffer.from(contentOf('first'))));
    await Promise.all(
      [one, other].flatMap((archive, writer) =>
        Array.from({ length: 20 }, (_, number) =>
          archive.store(page(`http://b.example/${writer}/${number}`, NOON + number, contentOf(`both ${number}`))),
        ),
      ),
    );
    const totals = await other.totals();
    assert.deepEqual([totals.captures, totals.blocks], [41, 21]);
    assert.equal(String(await payloadAt(one, 'http://b.example/1/7')), String(Buffer.from(contentOf('both 7'))));
    await one.close();
    await other.compact();
    const { errors, warnings, blocks } = await other.verify();
    assert.deepEqual([errors, warnings, blocks], [0, 0, 21]);
    await other.close();
    const again = await cluster.open(await cluster.machine(catalog));
    assert.deepEqual(
      (await again.segments()).map(({ state }) => state).filter((state) => state !== 'sealed'),
      [],
    );
    await again.close();
  });

  test('a volume that one machine adds is used by the others', async () => {
    const { catalog, archive: one } = await cluster.archive();
    const other = await cluster.open(await cluster.machine(catalog));
    await one.addVolume({ name: 'second', ...cluster.bucket('second') });
    await one.setVolumeWritable('far', false);
    await delay(ROUND_MS);
    await other.store(page('http://a.example/', NOON, contentOf('there')));
    assert.deepEqual(
      (await other.segments()).map(({ volume }) => volume),
      ['second'],
    );
    assert.deepEqual(
      other.connector.volumes.map(({ name, writable }) => [name, writable]),
      [
        ['far', false],
        ['second', true],
      ],
    );
    await Promise.all([one.close(), other.close()]);
  });

  test('deletions and takedowns of one machine reach the open segments of the other', async () => {
    const { catalog, archive: one } = await cluster.archive();
    const other = await cluster.open(await cluster.machine(catalog));
    await one.store(page('http://a.example/1', NOON, contentOf('secret')));
    await other.store(page('http://a.example/2', NOON, contentOf('public')));
    const report = await other.takeDown({ urls: ['http://a.example/1'] }, { reason: 'asked for', by: 'test' });
    assert.equal(report.captures, 1);
    assert.deepEqual(report.unsealed, []);
    await other.compact();
    assert.equal((await other.takedowns()).isGone, true);
    await assert.rejects(one.store(page('http://a.example/1', NOON + 1, contentOf('secret'))), {
      code: 'CONTENT_BARRED',
    });
    assert.equal(String(await payloadAt(one, 'http://a.example/2')), String(Buffer.from(contentOf('public'))));
    await Promise.all([one.close(), other.close()]);
  });

  test('a rebuild on one machine gives the same answers on all, and writers go on', async () => {
    const { catalog, archive: one } = await cluster.archive();
    const other = await cluster.open(await cluster.machine(catalog));
    for (let number = 0; number < 5; number++) {
      await one.store(page(`http://a.example/${number}`, NOON, contentOf(`one ${number}`)));
      await other.store(page(`http://b.example/${number}`, NOON, contentOf(`one ${number}`)));
    }
    await other.delete({ url: 'http://a.example/3' });
    // What is open is sealed under another name, with the same bytes.
    const lines = async (archive: Archive) =>
      (await Array.fromAsync(archive.exportCdxj({}))).map((line) => line.replace(/\.s\d+\.warc/, '.warc'));
    const before = await lines(other);
    await one.rebuild();
    assert.deepEqual(await lines(other), before);
    await other.store(page('http://c.example/', NOON, contentOf('after')));
    await one.store(page('http://d.example/', NOON, contentOf('after')));
    assert.equal((await one.totals()).captures, 11);
    await one.compact();
    const { errors, warnings } = await other.verify();
    assert.deepEqual([errors, warnings], [0, 0]);
    await Promise.all([one.close(), other.close()]);
  });

  test('after the database went back, nothing is changed until the volumes were adopted', async () => {
    const { catalog, archive: one } = await cluster.archive();
    await one.store(page('http://a.example/', NOON, contentOf('kept')));
    const schema = new URL(catalog).searchParams.get('schema')!;
    await one.database!.query(`update ${schema}.state set server = 'another/00000001'`);
    await one.database!.query(`update ${schema}.leases set server = 'another/00000001'`);
    await assert.rejects(one.store(page('http://b.example/', NOON, contentOf('kept'))), {
      code: 'CATALOG_FAILED_OVER',
    });
    assert.equal(String(await payloadAt(one, 'http://a.example/')), String(Buffer.from(contentOf('kept'))));
    await one.database!.query(`delete from ${schema}.captures`);
    await one.database!.query(`update ${schema}.segments set bytes = 0, records = 0, parts = '[]'`);
    await one.database!.query(`delete from ${schema}.blocks`);
    await one.cluster!.adopt();
    assert.equal(String(await payloadAt(one, 'http://a.example/')), String(Buffer.from(contentOf('kept'))));
    await one.store(page('http://c.example/', NOON, contentOf('kept')));
    assert.equal((await Array.fromAsync(one.blocks())).flat().length, 1);
    await one.close();
  });

  test('what many short processes leave is merged, and stays what it was after a rebuild', async () => {
    const { catalog, archive: one } = await cluster.archive();
    const directory = await cluster.machine(catalog);
    for (let number = 0; number < 9; number++) {
      const process = await cluster.open(directory);
      await process.store(page(`http://a.example/${number}`, NOON + number, contentOf(`put ${number}`)));
      await process.close();
    }
    await one.delete({ url: 'http://a.example/4' });
    assert.equal((await one.segments()).filter(({ collection }) => collection > 0).length, 9);
    const { merged } = await one.compact();
    assert.equal(merged, 8);
    assert.deepEqual(
      (await one.segments()).filter(({ collection }) => collection > 0).map(({ records }) => records),
      // That of the deleted capture has only records about itself.
      [2, 10],
    );
    for (const number of [0, 3, 8])
      assert.equal(
        String(await payloadAt(one, `http://a.example/${number}`)),
        String(Buffer.from(contentOf(`put ${number}`))),
      );
    const { errors, warnings } = await one.verify();
    assert.deepEqual([errors, warnings], [0, 0]);
    await one.rebuild();
    assert.equal((await one.totals()).captures, 8);
    assert.equal((await one.verify()).errors, 0);
    await one.close();
  });

  test('when the database is lost for good, the bucket alone brings the archive back', async () => {
    const { archive: one } = await cluster.archive();
    await one.store(page('http://a.example/1', NOON, contentOf('first')));
    await one.store(page('http://a.example/2', NOON, contentOf('second')));
    await one.store(page('http://a.example/3', NOON, contentOf('first')));
    await one.delete({ url: 'http://a.example/2' });
    const { path } = one.connector.volumes[0]!;
    const before = (await allCaptures(one)).map(({ url }) => url);
    // The machine and its database are gone without an orderly end.
    const again = await cluster.open(await cluster.machine(cluster.newCatalog()));
    const { endpoint, region } = cluster.bucket('any');
    await assert.rejects(again.addVolume({ name: 'far', path, endpoint, region }), { code: 'VOLUME_TAKEN' });
    await again.addVolume({ name: 'far', path, endpoint, region, takesOver: true });
    assert.deepEqual(
      (await allCaptures(again)).map(({ url }) => url),
      before,
    );
    assert.equal(String(await payloadAt(again, 'http://a.example/3')), String(Buffer.from(contentOf('first'))));
    await again.store(page('http://a.example/4', NOON, contentOf('first')));
    const { errors, blocks } = await again.verify();
    assert.deepEqual([errors, blocks], [0, 1]);
    await again.close();
  });

  test('an add and a store go on under another lease when theirs was lost', async () => {
    const { catalog, archive: one } = await cluster.archive();
    const schema = new URL(catalog).searchParams.get('schema')!;
    await one.store(page('http://a.example/', NOON, contentOf('before')));
    const file = join(await mkdtemp(join(tmpdir(), 'pinakes-added-')), 'two.warc.gz');
    await one.exportWarc({}, file, { software: 'test' });
    const expireAll = () =>
      one.database!.query(`update ${schema}.leases set expires = clock_timestamp() where expires > clock_timestamp()`);
    await expireAll();
    await one.store(page('http://b.example/', NOON, contentOf('after a pause')));
    await expireAll();
    const added = await one.add([file], { collection: 'other' });
    assert.deepEqual([added.failures, added.captures], [[], 1]);
    assert.equal((await one.add([file], { collection: 'other' })).filesKnown, 1);
    const { captures, blocks } = await one.totals();
    assert.deepEqual([captures, blocks], [3, 2]);
    await assert.rejects(one.add([file], { inPlace: true }), { code: 'NOT_LINKABLE' });
    await rm(dirname(file), { recursive: true });
    await one.close();
  });

  test('the commit of an added step that was made and not answered is not made again', async () => {
    const catalog = cluster.newCatalog();
    const directory = await cluster.machine(catalog);
    const maker = await cluster.open(directory);
    await maker.addVolume({ name: 'far', ...cluster.bucket('unanswered') });
    await maker.store(page('http://a.example/', NOON, contentOf('added')));
    const file = join(await mkdtemp(join(tmpdir(), 'pinakes-added-')), 'one.warc.gz');
    await maker.exportWarc({}, file, { software: 'test' });
    await maker.close();
    const schema = new URL(catalog).searchParams.get('schema')!;
    const inner = await openPostgresCatalog({ url: cluster.postgres.url, schema });
    let lost = 0;
    const losing = new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === 'commit')
          return async (group: CommitGroup) => {
            const outcome = await target.commit(group);
            if (!group.captures?.length || lost === 3) return outcome;
            lost++;
            throw new PinakesError('CATALOG_UNREACHABLE', { detail: 'the answer is lost' });
          };
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const one = await cluster.open(directory, { catalog: losing });
    const added = await one.add([file], { collection: 'other' });
    assert.equal(lost, 3);
    assert.deepEqual([added.failures, added.captures, added.capturesKnown], [[], 1, 0]);
    assert.equal((await one.totals()).captures, 2);
    await rm(dirname(file), { recursive: true });
    await one.close();
  });

  test('a mirror is synced by one machine at a time', async () => {
    const { catalog, archive: one } = await cluster.archive();
    const other = await cluster.open(await cluster.machine(catalog));
    await one.store(page('http://a.example/', NOON, contentOf('mirrored')));
    const target = await mkdtemp(join(tmpdir(), 'pinakes-mirror-'));
    await one.mirrors.add({ name: 'copy', target });
    await delay(ROUND_MS);
    const results = await Promise.allSettled([one.mirrors.sync('copy'), other.mirrors.sync('copy')]);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
    assert.deepEqual(refused, ['ARCHIVE_BUSY']);
    assert.equal((await other.mirrors.sync('copy')).number, 2);
    assert.equal((await one.mirrors.check('copy')).problems.length, 0);
    await rm(target, { recursive: true });
    await Promise.all([one.close(), other.close()]);
  });

  test('rows of leases go a day after they ended, and a fenced writer stays fenced', async () => {
    const schema = new URL(cluster.newCatalog()).searchParams.get('schema')!;
    const catalog = await openPostgresCatalog({ url: cluster.postgres.url, schema });
    const segments = ['old', 'needed', 'young'].map((name) => `writer:${name}`);
    const leases = [];
    for (const name of [...segments, 'compaction:far']) leases.push((await catalog.takeLease(name, 'test', 60_000))!);
    await catalog.listSegment({ name: 'default/a.warc.gz', collection: 1, volume: 'far' }, leases[1]);
    await catalog.database!.query(`update "${schema}".leases set expires = clock_timestamp() - interval '2 days'
      where name <> 'writer:young'`);
    await catalog.endLease(leases[2]!);
    assert.equal(await catalog.forgetLeases!('writer:', 24 * 3600 * 1000), 1);
    assert.deepEqual(
      (await catalog.leases()).map(({ name }) => name),
      ['compaction:far', 'writer:needed', 'writer:young'],
    );
    assert.deepEqual(await catalog.commit({ lease: leases[0], putNotes: { a: 'b' } }), {
      kind: 'fenced',
      why: 'lease',
    });
    assert.equal(await catalog.renewLease(leases[0]!, 1000), false);
    await catalog.close();
  });

  test('a rebuild that takes longer than its lease lasts keeps the lease', async () => {
    const catalog = cluster.newCatalog();
    const directory = await cluster.machine(catalog);
    const schema = new URL(catalog).searchParams.get('schema')!;
    const inner = await openPostgresCatalog({ url: cluster.postgres.url, schema });
    const slow = new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === 'totals')
          return async () => {
            if (await target.isAdopting()) await delay(2 * SHORT_TIMES.leaseLifeMs);
            return target.totals();
          };
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const one = await cluster.open(directory, { catalog: slow });
    await one.addVolume({ name: 'far', ...cluster.bucket('slow') });
    await one.store(page('http://a.example/', NOON, contentOf('kept')));
    await one.rebuild();
    assert.equal(await inner.isAdopting(), false);
    assert.equal((await one.totals()).captures, 1);
    await one.close();
  });
});
