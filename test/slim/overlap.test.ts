/** Runs that have only some of their files in common: no run sees the revisits in files that it does not name, and none may leave them without their content. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type SlimRunOptions, slimRefs, slimResolve, slimRun, slimSum, slimUndo } from '../../src/slim/index.ts';
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
    const [sums, resolved] = [join(directory, 'sums.parquet'), join(directory, 'resolved.parquet')];
    const files = ['old', 'middle'].flatMap((name) => filesBelow(join(directory, name)));
    const how = { format: 'parquet', workers: 1, onFinding: () => {}, onFailure: assert.fail } as const;
    await slimSum({ ...how, files, out: sums, algorithm: 'sha256', trustHeaders: false, keepEmpty: true });
    assert.equal((await slimResolve({ ...how, manifests: [sums], out: resolved, verify: 'digest' })).duplicates, 1);
    assert.equal((await slimRun(over(directory, ['new', 'middle']))).revisits, 1);
    const options = over(directory, ['old', 'middle']);
    const summary = await slimRefs({ ...options, resolved: { manifests: [resolved], trustOriginals: false } });
    assert.equal(summary.revisits, 0);
    expectWhole(await readAll(filesBelow(directory)), earlier);
  });
});

test('undoing a run forgets what its revisits leaned on', async () => {
  await inDirectory(async (directory) => {
    for (const [name, seed] of CRAWLS) await writeCrawl(directory, name, seed);
    const earlier = await readAll(filesBelow(directory));
    const options = over(directory, ['new', 'middle'], { keptDirectory: join(directory, '.kept') });
    assert.equal((await slimRun(options)).revisits, 1);
    const { workDirectory } = options;
    assert.deepEqual(await slimUndo({ workDirectory, onFinding: () => {} }), { restored: 1, left: 0 });
    assert.equal(existsSync(join(directory, 'middle', '.pinakes-slim')), false);
    assert.equal((await slimRun(over(directory, ['old', 'middle']))).revisits, 1);
    expectWhole(await readAll(filesBelow(directory)), earlier);
  });
});
