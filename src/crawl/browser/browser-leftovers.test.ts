import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeBrowserDirectory, removeLeftovers } from './browser-leftovers.ts';

/** Has another temporary directory than the machine's, and the mark of a process that is gone. */
async function withTemporary(t: TestContext) {
  const temporary = mkdtempSync(join(tmpdir(), 'pinakes-leftovers-'));
  const { TMPDIR } = process.env;
  process.env.TMPDIR = temporary;
  t.after(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    rmSync(temporary, { recursive: true });
  });
  const running = basename(await makeBrowserDirectory());
  const mark = running.replace(String(process.pid), String(spawnSync(process.execPath, ['--version']).pid));
  return { temporary, running, mark };
}

test('directories of processes that are gone are removed, and none that a link names, or of another machine', async (t) => {
  const { temporary, running, mark } = await withTemporary(t);
  const linked = join(temporary, 'linked');
  mkdirSync(linked);
  writeFileSync(join(linked, mark), '');
  mkdirSync(join(temporary, mark));
  mkdirSync(join(temporary, 'playwright_chromiumdev_profile-1', mark), { recursive: true });
  const others = [
    mark.replace(/.{7}$/, '-other$&'),
    mark.replace(/.{6}$/, 'linked'),
    'playwright_chromiumdev_profile-2',
    'playwright_chromiumdev_profile-linked',
  ];
  mkdirSync(join(temporary, others[0]!));
  symlinkSync(linked, join(temporary, others[1]!));
  mkdirSync(join(temporary, others[2]!));
  symlinkSync(linked, join(temporary, others[3]!));
  await removeLeftovers();
  assert.deepEqual(readdirSync(temporary).sort(), ['linked', running, ...others].sort());
  assert.deepEqual(readdirSync(linked), [mark]);
});

test('what another user made is left alone, whatever its name', { skip: process.getuid?.() !== 0 }, async (t) => {
  const { temporary, running, mark } = await withTemporary(t);
  const planted = [mark, 'playwright_chromiumdev_profile-planted'];
  for (const name of planted) {
    mkdirSync(join(temporary, name, mark), { recursive: true });
    chownSync(join(temporary, name), 12_345, 12_345);
  }
  await removeLeftovers();
  assert.deepEqual(readdirSync(temporary).sort(), [running, ...planted].sort());
});
