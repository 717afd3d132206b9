/** `pinakes doctor` as a separate process, on closed archives and beside processes that have the archive open. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { openArchive } from '../../src/archive/index.ts';
import { filesBelow, segmentFiles } from '../archive/archive-sample.ts';
import { temporaryDirectory, trialOptions } from '../archive/trial-archive.ts';
import { linesOf, type Outcome, pinakes, pinakesJson, startPinakes } from './pinakes-process.ts';

type Report = {
  readonly isWell: boolean;
  readonly owner: { readonly pid: number; readonly purpose: string } | null;
  readonly catalog: null | {
    readonly incarnation: number;
    readonly isAdopting: boolean;
    readonly leases: readonly unknown[];
    readonly openSegments: readonly {
      readonly volume: string;
      readonly bytes: number;
      readonly uncommittedBytes: number;
    }[];
    readonly pending: readonly {
      readonly kind: string;
      readonly waitsFor: string;
      readonly detail: string;
      readonly bytes: number;
    }[];
  };
  readonly refusal: { readonly code: string } | null;
  readonly reserve: { readonly bytes: number; readonly freeBytes: number };
  readonly volumes: readonly { readonly name: string; readonly freeBytes: number; readonly failure: string | null }[];
  readonly advice: readonly { readonly level: string; readonly message: string }[];
};

function doctor(directory: string): Report {
  const [report] = pinakesJson(directory, 'doctor', '--json');
  return report as Report;
}

/** The directory of an archive with two contents, of two URLs. */
async function filled(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  assert.equal(pinakes(directory, 'init').code, 0);
  for (const name of ['a', 'b']) {
    writeFileSync(join(directory, name), `content ${name} `.repeat(200));
    assert.equal(pinakes(directory, 'put', name).code, 0);
  }
  return directory;
}

function succeeded({ code, err }: Outcome): void {
  assert.equal(code, 0, err);
}

test('a sound archive is well: doctor shows its open segment and its room, and changes no file', async (t) => {
  const directory = await filled(t);
  const isKept = (path: string) => !path.includes('/catalog/');
  const before = filesBelow(join(directory, 'archive')).filter(isKept);
  const bytes = before.map((path) => readFileSync(path));
  const { code, out } = pinakes(directory, 'doctor');
  assert.equal(code, 0);
  const lines = linesOf(out);
  assert.equal(lines[0], 'open in       no process');
  assert.equal(lines[1], 'incarnation   1');
  assert.equal(lines[2], 'leases        none: one process at a time owns the archive');
  assert.match(lines[3]!, /^open segment {2}main: default\/default-\d+-\d+-.*\.warc\.gz, [\d.]+ (B|KB), 3 records$/);
  assert.match(lines[4]!, /^volume {8}main: [\d.]+ \w+ free of [\d.]+ \w+$/);
  assert.match(lines[5]!, /^reserve {7}8\.4 MB, [\d.]+ \w+ free beside it$/);
  assert.equal(lines.at(-1), 'All is well, and nothing waits to be healed or removed.');
  assert.deepEqual(filesBelow(join(directory, 'archive')).filter(isKept), before);
  assert.deepEqual(
    before.map((path) => readFileSync(path)),
    bytes,
  );
  const report = doctor(directory);
  assert.deepEqual([report.isWell, report.owner, report.refusal, report.advice], [true, null, null, []]);
  assert.equal(report.catalog!.openSegments[0]!.uncommittedBytes, 0);
});

test('an archive without a catalog does not get one from doctor', async (t) => {
  const directory = await temporaryDirectory(t);
  succeeded(pinakes(directory, 'init'));
  const { isWell, catalog, advice } = doctor(directory);
  assert.deepEqual([isWell, catalog], [true, null]);
  assert.match(advice[0]!.message, /no catalog yet/);
  assert.ok(!existsSync(join(directory, 'archive/catalog')));
  const missing = pinakes(directory, 'doctor', '--archive', 'elsewhere');
  assert.equal(missing.code, 2);
  assert.match(missing.err, /ARCHIVE_MISSING/);
});

test('deleted records wait for compaction, or for the snapshot that keeps them', async (t) => {
  const directory = await filled(t);
  succeeded(pinakes(directory, 'snapshot', 'create', 'spring'));
  succeeded(pinakes(directory, 'delete', '--collection', 'default', '--yes'));
  const kept = doctor(directory).catalog!.pending;
  assert.deepEqual(
    kept.map(({ kind, waitsFor, detail }) => ({ kind, waitsFor, detail })),
    [{ kind: 'deleted records', waitsFor: 'snapshot', detail: 'the snapshot spring' }],
  );
  assert.ok(kept[0]!.bytes > 0);
  succeeded(pinakes(directory, 'snapshot', 'rm', 'spring'));
  const { code, out } = pinakes(directory, 'doctor', '--archive', 'archive');
  assert.equal(code, 0);
  assert.match(out, /^to be removed {2}deleted records: default\/.*, waiting for compaction$/m);
  assert.match(out, /^hint: 1 segment holds deleted records\n {2}`pinakes compact --archive archive` removes/m);
  assert.match(out, /^Nothing is wrong\.$/m);
  succeeded(pinakes(directory, 'compact'));
  assert.deepEqual(doctor(directory).advice, []);
  const after = pinakes(directory, 'doctor').out;
  assert.match(after, /^leases +none/m, 'the lease of a compaction that has ended is not shown');
});

test('bytes that an interrupted command left are shown, and not healed', async (t) => {
  const directory = await filled(t);
  const [path] = segmentFiles(join(directory, 'archive/volumes'));
  appendFileSync(path!, 'torn');
  for (let time = 0; time < 2; time++) {
    const { isWell, catalog, advice } = doctor(directory);
    assert.equal(isWell, true);
    assert.equal(catalog!.openSegments[0]!.uncommittedBytes, 4);
    assert.match(advice[0]!.message, /1 open segment has bytes that the catalog does not know/);
  }
  truncateSync(path!, 100);
  const short = pinakes(directory, 'doctor');
  assert.equal(short.code, 1);
  assert.match(short.out, /problem: the open segment .* is shorter than in the catalog/);
});

test('beside a server, doctor reports what the server has open', async (t) => {
  const directory = await filled(t);
  const child = startPinakes(directory, 'serve', '--json', '--port', '0', '--replay-port', '0');
  t.after(() => child.kill('SIGKILL'));
  await once(createInterface({ input: child.stdout! }), 'line');
  const { isWell, owner, catalog } = doctor(directory);
  assert.equal(isWell, true);
  assert.equal(owner!.purpose, 'serve');
  assert.equal(catalog!.openSegments.length, 1);
  assert.match(pinakes(directory, 'doctor').out, /^open in .* serve, since .*, http:\/\/127\.0\.0\.1:\d+$/m);
});

test('beside a process without a server, doctor names the process and reports what is outside of the catalog', async (t) => {
  const directory = await filled(t);
  const archive = await openArchive(join(directory, 'archive'), trialOptions({ purpose: 'add' }));
  t.after(() => archive.close());
  const { isWell, owner, catalog, refusal, reserve, advice } = doctor(directory);
  assert.deepEqual([isWell, catalog, refusal], [true, null, null]);
  assert.deepEqual([owner!.pid, owner!.purpose], [process.pid, 'add']);
  assert.ok(reserve.freeBytes > 0);
  assert.match(advice[0]!.message, /another process has the archive open/);
});

test('the catalog of a process on another machine is left alone', async (t) => {
  const directory = await filled(t);
  const owner = { pid: 7, host: 'elsewhere', since: '2026-01-01T00:00:00Z', purpose: 'add' };
  writeFileSync(join(directory, 'archive/owner.json'), JSON.stringify(owner));
  const catalog = () => filesBelow(join(directory, 'archive/catalog')).map((path) => readFileSync(path));
  const before = catalog();
  const report = doctor(directory);
  assert.deepEqual([report.owner, report.catalog, report.isWell], [owner, null, true]);
  assert.deepEqual(catalog(), before);
});

test('a damaged catalog and a missing volume are problems, with advice', async (t) => {
  const directory = await filled(t);
  await rename(join(directory, 'archive/volumes/main'), join(directory, 'away'));
  const [lacking] = [doctor(directory)];
  assert.equal(lacking.isWell, false);
  assert.match(lacking.volumes[0]!.failure!, /main/);
  await rename(join(directory, 'away'), join(directory, 'archive/volumes/main'));
  const manifest = filesBelow(join(directory, 'archive/catalog')).find((path) => path.includes('MANIFEST'))!;
  truncateSync(manifest, 10);
  const { code, out } = pinakes(directory, 'doctor');
  assert.equal(code, 1);
  assert.match(out, /^problem: .*catalog is damaged.*\n {2}.*`pinakes rebuild`/m);
  assert.equal(doctor(directory).refusal!.code, 'CATALOG_DAMAGED');
});
