import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { withStageDirectory } from './stage-directory.ts';

const STAGE = join(import.meta.dirname, 'stage-directory.ts');

test('a stage removes the directories of killed stages of the same result, and no others', async (t) => {
  const beside = mkdtempSync(join(tmpdir(), 'pinakes-stage-'));
  t.after(() => rmSync(beside, { recursive: true }));
  const out = join(beside, 'out.parquet');
  const others = ['.out.parquet-thesis', '.out.parquet-ABCDEF', '.out.parquet.bak-ABCDEF'];
  for (const name of others) {
    mkdirSync(join(beside, name));
    for (const file of ['work.txt', 'lock']) writeFileSync(join(beside, name, file), 'years of work');
  }
  const script = `
    import { withStageDirectory } from ${JSON.stringify(STAGE)};
    await withStageDirectory(process.argv[1], undefined, async (directory) => {
      process.stdout.write(directory);
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, out], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [bytes] = await once(child.stdout, 'data');
  const directory = String(bytes);
  writeFileSync(join(directory, 'half-written'), '');

  await withStageDirectory(out, undefined, async () => {});
  assert.ok(existsSync(join(directory, 'half-written')), 'its stage is still running');
  child.kill('SIGKILL');
  await once(child, 'close');
  await withStageDirectory(join(beside, 'another.parquet'), undefined, async () => {});
  assert.ok(existsSync(directory), 'it belongs to another result');
  await withStageDirectory(out, undefined, async () => {});
  assert.ok(!existsSync(directory), basename(directory));
  assert.deepEqual(readdirSync(beside).sort(), others.toSorted());
  for (const name of others) assert.ok(existsSync(join(beside, name, 'work.txt')));
});
