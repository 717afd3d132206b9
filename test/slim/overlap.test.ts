/**
 * Runs that have only some files in common. A run does not read the revisits in files that it does not name, but must
 * not remove the content of these revisits.
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

/** A directory with a file of one page, whose body is the same in all files. Files with a lower seed are older. */
async function writeCrawl(directory: string, name: string, seed: number): Promise<void> {
  mkdirSync(join(directory, name));
  const sample = await SampleWriter.create(join(directory, name, `${name}.warc.gz`), 'gzip', seed);
  await sample.page({ uri: `http://${name}.example/`, body: BODY });
  await sample.finish();
}

/** Options of a run over some of the crawls, with its work directory beside the first crawl. */
function over(directory: string, names: readonly string[], more: Partial<SlimRunOptions> = {}): SlimRunOptions {
  const inputs = names.flatMap((name) =>
    filesBelow(join(directory, name)).map((path) => ({ path, root: join(directory, name) })),
  );
  return runOptions(directory, { inputs, workDirectory: join(directory, names[0]!, '.pinakes-slim'), ...more }).options;
}

/** A manifest of crawls, with the duplicate in the later crawl. */
async function resolvedOf(directory: string, names: readonly string[]): Promise<ResolvedInput> {
  const [sums, resolved] = [join(directory, 'sums.parquet'), join(directory, 'resolved.parquet')];
  const files = names.flatMap((name) => filesBelow(join(directory, name)));
  const how = { format: 'parquet', workers: 1, onFinding: () => {}, onFailure: assert.fail } as const;
  await slimSum({ ...how, files, out: sums, algorithm: 'sha256', trustHeaders: false, keepEmpty: true });
  assert.equal((await slimResolve({ ...how, manifests: [sums], out: resolved, verify: 'digest' })).duplicates, 1);
  return { manifests: [resolved], trustOriginals: false };
}

/** Checks that every capture has its content, and that every revisit refers to a response. */
function expectWhole(later: readonly ArchivedRecord[], earlier: readonly ArchivedRecord[]): void {
  assert.deepEqual(capturesOf(later), capturesOf(earlier));
  for (const revisit of later.filter(({ type }) => type === 'revisit'))
    assert.equal(originalOf(revisit, later)?.type, 'response', revisit.uri);
}

test('a record that a revisit refers to stays when a later run names the file of the record but not that of the revisit', async () => {
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

test('a record that a revisit refers to stays when a later run uses an older manifest', async () => {
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

test('a record that a revisit refers to stays when a manifest lists files that the run does not name', async () => {
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

test('undo removes the notes about the originals of the run', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const earlier = await readAll(filesBelow(directory));
    const options = over(directory, ['new', 'middle'], { keptDirectory: join(directory, '.kept') });
    assert.equal((await slimRun(options)).revisits, 1);
    // Another path to the same directory.
    symlinkSync(join(directory, 'new'), join(directory, 'link'));
    const workDirectory = join(directory, 'link', '.pinakes-slim');
    assert.deepEqual(await slimUndo({ workDirectory, onFinding: () => {} }), { restored: 1, left: 0 });
    rmSync(join(directory, 'link'));
    assert.equal(existsSync(join(directory, 'middle', '.pinakes-slim')), false);
    assert.equal((await slimRun(over(directory, ['old', 'middle']))).revisits, 1);
    expectWhole(await readAll(filesBelow(directory)), earlier);
  });
});

test('a record that a revisit refers to stays when an interrupted run continues after the run that made the revisit', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const earlier = await readAll(filesBelow(directory));
    const stopper = new AbortController();
    // The run has made its plan and has not replaced any file.
    const onProgress = (phase: SlimPhase) => void (phase === 'resolve' && stopper.abort());
    const interrupted = over(directory, ['old', 'middle'], { onProgress, signal: stopper.signal });
    await assert.rejects(slimRun(interrupted), { name: 'AbortError' });
    assert.equal((await slimRun(over(directory, ['new', 'middle']))).revisits, 1);
    assert.equal((await slimRun(over(directory, ['old', 'middle']))).revisits, 0);
    expectWhole(await readAll(filesBelow(directory)), earlier);
  });
});

test('a run does nothing when the notes about originals cannot be read', async () => {
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

test('missing notes in a read-only directory are reported, and any other failure to write notes stops the run', async (t) => {
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

test('the notes about originals are also written for files in a target', async () => {
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
