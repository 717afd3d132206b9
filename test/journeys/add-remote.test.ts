import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startRangeServer } from '../archive/range-server.ts';
import { pinakes, pinakesJson } from './pinakes-runner.ts';
import { scratch, writeSite } from './warc-sample.ts';

test('add --in-place uses a file on a web server where it is, beside files on this machine', async (t) => {
  const at = scratch(t);
  const server = await startRangeServer(t);
  await writeSite(join(at, 'one.warc.gz'), 'one', 20);
  await writeSite(join(at, 'two.warc.gz'), 'two', 20);
  server.files.set('/one.warc.gz', readFileSync(join(at, 'one.warc.gz')));
  const url = `${server.origin}/one.warc.gz`;
  await pinakes(at, 'init');
  const copied = await pinakes(at, 'add', url);
  assert.deepEqual([copied.code, /--in-place/.test(copied.err)], [2, true]);
  const added = await pinakes(at, 'add', '--in-place', url, 'two.warc.gz', `${server.origin}/none.warc.gz`);
  assert.match(added.out, /^2 files: 40 new captures\n.*nothing was copied/);
  assert.match(added.err, /none\.warc\.gz.*FILE_MISSING/);
  assert.equal(added.code, 2);
  assert.match((await pinakes(at, 'get', 'http://one.test/3')).out, /Page 3 of one/);
  const [again] = await pinakesJson(at, 'add', '--in-place', '--json', url);
  assert.deepEqual([again!.filesKnown, again!.captures], [1, 0]);
  assert.match((await pinakes(at, 'add', '--in-place', 'http://pages.test/a.warc.gz')).err, /--insecure/);
  server.knowsRanges = false;
  assert.match((await pinakes(at, 'add', '--in-place', `${url}?b`)).err, /ranges.*NOT_LINKABLE/);
});
