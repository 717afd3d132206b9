import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../archive/trial-archive.ts';
import { pinakes } from './pinakes-process.ts';

test('PINAKES_DEBUG=ledger prints what happens in the ledger, on the standard error only', async (t) => {
  const directory = await temporaryDirectory(t);
  writeFileSync(join(directory, 'a.txt'), 'a content');
  assert.equal(pinakes(directory, 'init').code, 0);
  assert.equal(pinakes(directory, 'put', 'a.txt').code, 0);
  const folder = join(directory, 'archive/volumes/main/default');
  const path = join(folder, readdirSync(folder)[0]!);
  const tear = () => appendFileSync(path, 'torn');
  tear();
  const quiet = pinakes(directory, 'volume', 'ls');
  process.env.PINAKES_DEBUG = 'other, ledger';
  tear();
  const { out, err } = pinakes(directory, 'volume', 'ls');
  assert.match(err, /^ledger: healed tails \+1: default\/.*, 4 bytes$/m);
  // What is free changes meanwhile.
  const withoutRoom = (text: string) => text.replace(/[\d.]+ [KMGT]?B +volumes/, 'volumes');
  assert.equal(withoutRoom(out), withoutRoom(quiet.out));
  assert.doesNotMatch(quiet.err, /ledger/);
});
