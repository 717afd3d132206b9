import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeBrowserDirectory, removeBrowserLeftovers } from './browser-leftovers.ts';

/** Sets a temporary directory for the test, and returns the marker name of a process that has ended. */
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
  const marker = running.replace(String(process.pid), String(spawnSync(process.execPath, ['--version']).pid));
  return { temporary, running, marker };
}

test('directories of ended processes of this machine are removed; links are not followed', async (t) => {
  const { temporary, running, marker } = await withTemporary(t);
  const linked = join(temporary, 'linked');
  mkdirSync(linked);
  writeFileSync(join(linked, marker), '');
  mkdirSync(join(temporary, marker));
  mkdirSync(join(temporary, 'playwright_chromiumdev_profile-1', marker), { recursive: true });
  const others = [
    marker.replace(/.{7}$/, '-other$&'),
    marker.replace(/.{6}$/, 'linked'),
    'playwright_chromiumdev_profile-2',
    'playwright_chromiumdev_profile-linked',
  ];
  mkdirSync(join(temporary, others[0]!));
  symlinkSync(linked, join(temporary, others[1]!));
  mkdirSync(join(temporary, others[2]!));
  symlinkSync(linked, join(temporary, others[3]!));
  await removeBrowserLeftovers();
  assert.deepEqual(readdirSync(temporary).sort(), ['linked', running, ...others].sort());
  assert.deepEqual(readdirSync(linked), [marker]);
});

test('directories of another user are left alone, even if their names match', {
  skip: process.getuid?.() !== 0,
}, async (t) => {
  const { temporary, running, marker } = await withTemporary(t);
  const planted = [marker, 'playwright_chromiumdev_profile-planted'];
  for (const name of planted) {
    mkdirSync(join(temporary, name, marker), { recursive: true });
    chownSync(join(temporary, name), 12_345, 12_345);
  }
  await removeBrowserLeftovers();
  assert.deepEqual(readdirSync(temporary).sort(), [running, ...planted].sort());
});
