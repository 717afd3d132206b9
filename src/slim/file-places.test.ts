import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FilePlaces } from './file-places.ts';

test('a path that does not exist or cannot be resolved has no fingerprint', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-places-'));
  t.after(() => rmSync(directory, { recursive: true }));
  symlinkSync('loop', join(directory, 'loop'));
  const places = new FilePlaces([]);
  for (const name of ['gone', 'loop', 'n'.repeat(300)])
    assert.equal(places.fingerprintOf(join(directory, name)), undefined);
});
