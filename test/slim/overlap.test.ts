/**
 * Runs that have only some of their files in common: no run sees the revisits in files that it does not name, and none
 * may leave them without their content.
 */
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Finding } from '../../src/base/index.ts';
import {
  type ResolvedInput,
  type SlimPhase,
  type SlimRunOptions,
  slimResolve,
  slimRun,
  slimSum,
  slimUndo,
} from '../../src/slim/index.ts';
import { type ArchivedRecord, capturesOf, originalOf, readAll } from './archived-captures.ts';
import { bodyOf, SampleWriter } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions } from './slim-options.ts';

const BODY = bodyOf(1);

const CRAWLS = [
  ['old', 1],
  ['middle', 2],
  ['new', 3],
] as const;

/** A directory with a file that has one page with the same body as all the others. Files of lower seeds are older. */
async function writeCrawl(directory: string, name: string, seed: number): Promise<void> {
  mkdirSync(join(directory, name));
  const sample = await SampleWriter.create(join(directory, name, `${name}.warc.gz`), 'gzip', seed);
  await sample.page({ uri: `http://${name}.example/`, body: BODY });
  await sample.finish();
}

/** Options of a run over some of the crawls, which works beside the first of them. */
function over(directory: string, names: readonly string[], more: Partial<SlimRunOptions> = {}): SlimRunOptions {
  const inputs = names.flatMap((name) =>
    filesBelow(join(directory, name)).map((path) => ({ path, root: join(directory, name) })),
  );
  return runOptions(directory, { inputs, workDirectory: join(directory, names[0]!, '.pinakes-slim'), ...more }).options;
}

/** A manifest of crawls, with the duplicate in the later of them. */
async function resolvedOf(directory: string, names: readonly string[]): Promise<ResolvedInput> {
  const [sums, resolved] = [join(directory, 'sums.parquet'), join(directory, 'resolved.parquet')];
  const files = names.flatMap((name) => filesBelow(join(directory, name)));
  const how = { format: 'parquet', workers: 1, onFinding: () => {}, onFailure: assert.fail } as const;
  await slimSum({ ...how, files, out: sums, algorithm: 'sha256', trustHeaders: false, keepEmpty: true });
  assert.equal((await slimResolve({ ...how, manifests: [sums], out: resolved, verify: 'digest' })).duplicates, 1);
  return { manifests: [resolved], trustOriginals: false };
}

/** Every capture has the content it had, and every revisit leans on a response itself. */
function expectWhole(later: readonly ArchivedRecord[], earlier: readonly ArchivedRecord[]): void {
  assert.deepEqual(capturesOf(later), capturesOf(earlier));
  for (const revisit of later.filter(({ type }) => type === 'revisit'))
    assert.equal(originalOf(revisit, later)?.type, 'response', revisit.uri);
}

test('a record that a file leans on stays when a later run names its file, and not the one that leans on it', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const earlier = await readAll(filesBelow(directory));
    assert.equal((await slimRun(over(directory, ['new', 'middle']))).revisits, 1);
    assert.equal((await slimRun(over(directory, ['old', 'middle']))).revisits, 0);
    expectWhole(await readAll(filesBelow(directory)), earlier);
    assert.equal((await slimRun(over(directory, ['old', 'middle', 'new']))).revisits, 0);
    expectWhole(await readAll(filesBelow(directory)), earlier);
  });
});

test('so it does when a manifest that was made before says what to do', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const earlier = await readAll(filesBelow(directory));
    const resolved = await resolvedOf(directory, ['old', 'middle']);
    assert.equal((await slimRun(over(directory, ['new', 'middle']))).revisits, 1);
    const options = over(directory, ['old', 'middle']);
    const summary = await slimRun({ ...options, resolved });
    assert.equal(summary.revisits, 0);
    expectWhole(await readAll(filesBelow(directory)), earlier);
  });
});

test('so it does when a manifest says what lies in files that are not named', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const earlier = await readAll(filesBelow(directory));
    const resolved = await resolvedOf(directory, ['middle', 'new']);
    const options = over(directory, ['new'], { keptDirectory: `${directory}-kept` });
    assert.equal((await slimRun({ ...options, resolved })).revisits, 1);
    assert.equal((await slimRun(over(directory, ['old', 'middle']))).revisits, 0);
    expectWhole(await readAll(filesBelow(directory)), earlier);
    const { workDirectory } = options;
    assert.deepEqual(await slimUndo({ workDirectory, onFinding: () => {} }), { restored: 1, left: 0 });
    assert.equal(existsSync(join(directory, 'middle', '.pinakes-slim')), false);
    rmSync(`${directory}-kept`, { recursive: true });
  });
});

test('undoing a run forgets what its revisits leaned on', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const earlier = await readAll(filesBelow(directory));
    const options = over(directory, ['new', 'middle'], { keptDirectory: join(directory, '.kept') });
    assert.equal((await slimRun(options)).revisits, 1);
    // By another way to the same place.
    symlinkSync(join(directory, 'new'), join(directory, 'link'));
    const workDirectory = join(directory, 'link', '.pinakes-slim');
    assert.deepEqual(await slimUndo({ workDirectory, onFinding: () => {} }), { restored: 1, left: 0 });
    rmSync(join(directory, 'link'));
    assert.equal(existsSync(join(directory, 'middle', '.pinakes-slim')), false);
    assert.equal((await slimRun(over(directory, ['old', 'middle']))).revisits, 1);
    expectWhole(await readAll(filesBelow(directory)), earlier);
  });
});

test('so it does when the run that would touch it was interrupted before, and goes on after the one that leans on it', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const earlier = await readAll(filesBelow(directory));
    const stopper = new AbortController();
    // It has its plan, and has exchanged nothing.
    const onProgress = (phase: SlimPhase) => void (phase === 'resolve' && stopper.abort());
    const interrupted = over(directory, ['old', 'middle'], { onProgress, signal: stopper.signal });
    await assert.rejects(slimRun(interrupted), { name: 'AbortError' });
    assert.equal((await slimRun(over(directory, ['new', 'middle']))).revisits, 1);
    assert.equal((await slimRun(over(directory, ['old', 'middle']))).revisits, 0);
    expectWhole(await readAll(filesBelow(directory)), earlier);
  });
});

test('nothing is done where what is leaned on cannot be told', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    assert.equal((await slimRun(over(directory, ['new', 'middle']))).revisits, 1);
    const place = join(directory, 'middle', '.pinakes-slim');
    const notes = join(place, readdirSync(place)[0]!);
    const images = filesBelow(directory).map((path) => readFileSync(path));
    for (const damage of [readFileSync(notes).subarray(0, 20), Buffer.alloc(33), Buffer.from([0xff, 0x0a])]) {
      writeFileSync(notes, damage);
      await assert.rejects(slimRun(over(directory, ['old', 'middle'])), { code: 'SLIM_NOTES', where: notes });
    }
    assert.deepEqual(
      filesBelow(directory).map((path) => readFileSync(path)),
      images,
    );
  });
});

test('where nothing can be noted that is told, and where files could be exchanged all the same nothing is done', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may write anywhere');
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const [old, middle] = [join(directory, 'old'), join(directory, 'middle')];
    mkdirSync(join(middle, '.pinakes-slim'), { mode: 0o555 });
    const code = 'FILE_UNWRITABLE';
    await assert.rejects(slimRun(over(directory, ['new', 'middle'])), { code });
    chmodSync(join(middle, '.pinakes-slim'), 0o755);
    assert.equal((await slimRun(over(directory, ['new', 'middle']))).revisits, 1);
    chmodSync(old, 0o555);
    await writeCrawl(directory, 'newest', 4);
    const findings: Finding[] = [];
    const onFinding = (finding: Finding) => void findings.push(finding);
    assert.equal((await slimRun(over(directory, ['newest', 'old'], { onFinding }))).revisits, 1);
    assert.deepEqual(
      findings.map(({ code, file }) => [code, file]),
      [['slim-lean-unnoted', old]],
    );
    chmodSync(old, 0o755);
  });
});

test('files that a run writes elsewhere are leaned on there, too', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const earlier = await readAll(filesBelow(directory));
    assert.equal((await slimRun(over(directory, ['new', 'middle']))).revisits, 1);
    const target = join(directory, 'target');
    await slimRun(over(directory, ['new', 'middle'], { target, workDirectory: join(target, '.pinakes-slim') }));
    const written = filesBelow(target).filter((path) => path.endsWith('middle.warc.gz'));
    const inputs = [...filesBelow(join(directory, 'old')), ...written].map((path) => ({ path, root: path }));
    assert.equal((await slimRun(over(directory, ['old'], { inputs }))).revisits, 0);
    expectWhole(await readAll([...filesBelow(join(directory, 'old')), ...filesBelow(target)]), earlier);
  });
});
