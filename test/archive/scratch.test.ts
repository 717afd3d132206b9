/** Temporary files of owners that have ended, and of those that may be living. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openArchive } from '../../src/archive/index.ts';
import { makeArchive, NOON, trialOptions } from './trial-archive.ts';

test('I13 A lease, not a lock: an opening removes the temporary files of ended owners only', async (t) => {
  const made = await makeArchive(t);
  const spool = join(made.directory, 'spool');
  const own = made.scratch;
  assert.deepEqual(readdirSync(spool), [own.slice(spool.length + 1)]);
  await made.close();
  assert.deepEqual(readdirSync(spool), []);

  const living = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']);
  t.after(() => living.kill());
  const ended = spawn(process.execPath, ['-e', '']);
  await once(ended, 'exit');
  const host = hostname().replace(/[^A-Za-z0-9._-]/g, '-');
  const names = {
    living: `${host}~${living.pid}~1`,
    ended: `${host}~${ended.pid}~1`,
    former: `${host}~${process.pid}~1`,
    elsewhere: 'another-host~1~1',
    elsewhereLongAgo: 'another-host~2~1',
    nameless: 'package-1-1',
  };
  for (const name of Object.values(names)) {
    mkdirSync(join(spool, name));
    writeFileSync(join(spool, name, 'body'), 'the beginning');
    utimesSync(join(spool, name), NOON / 1000, NOON / 1000);
  }
  utimesSync(join(spool, names.elsewhereLongAgo), NOON / 1000 - 8 * 24 * 3600, NOON / 1000 - 8 * 24 * 3600);

  const archive = await openArchive(made.directory, trialOptions());
  t.after(() => archive.close());
  const mine = archive.scratch.slice(spool.length + 1);
  assert.deepEqual(readdirSync(spool).sort(), [names.living, names.elsewhere, mine].sort());
});
