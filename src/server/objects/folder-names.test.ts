import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FolderNames } from './folder-names.ts';

test('a folder that is made again while its removal is reported stays in lists', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'pinakes-names-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'a'));
  writeFileSync(join(root, 'a', 'object'), '');
  const names = new FolderNames(() => 1e12);
  assert.deepEqual((await names.window(root, '')).names, ['a/']);
  // The folder was removed and made again on the disk. The two calls come in the other order.
  names.changed(root, 'a', 'folder', true);
  names.changed(root, 'a', 'folder', false);
  assert.deepEqual((await names.window(root, '')).names, ['a/']);
  const reading = names.window(root, '');
  names.changed(root, 'a', 'folder', true);
  names.changed(root, 'a', 'folder', false);
  await reading;
  assert.deepEqual((await names.window(root, '')).names, ['a/']);
});

test('a file is listed although the call that made its folder has not reported the folder yet', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'pinakes-names-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const names = new FolderNames(() => 1e12);
  assert.deepEqual((await names.window(root, '')).names, []);
  // A change by the server, so that the time of the folder does not show the next one.
  writeFileSync(join(root, 'b'), '');
  names.changed(root, 'b', 'file', true);
  mkdirSync(join(root, 'a'));
  writeFileSync(join(root, 'a', 'object'), '');
  names.changed(join(root, 'a'), 'object', 'file', true);
  assert.deepEqual((await names.window(root, '')).names, ['a/', 'b']);
});
