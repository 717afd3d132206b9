/** The messages of commands that fail: as text, and with --json as JSON. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LAUNCHER, pinakes as pinakesProcess } from './pinakes-process.ts';
import { pinakes } from './pinakes-runner.ts';
import { scratch } from './warc-sample.ts';

test('with --json every failure is one line of JSON with its code, message and advice', async (t) => {
  const at = scratch(t);
  writeFileSync(join(at, 'picture.wacz'), 'not a package');
  await pinakes(at, 'init');
  const refused: readonly (readonly [code: string, ...argv: string[]])[] = [
    ['ARCHIVE_MISSING', 'stats', '--archive', 'nowhere', '--json'],
    ['FILE_MISSING', 'add', 'absent.warc.gz', '--json'],
    ['NOT_WACZ', 'warc', 'ls', 'picture.wacz', '--json'],
    ['CONFIRMATION_NEEDED', 'delete', '--collection', 'default', '--json'],
    ['BAD_ARGUMENT', 'stats', '--no-such-option', '--json'],
    ['BAD_ARGUMENT', 'stats', '--archive', '--json'],
  ];
  writeFileSync(join(at, 'text.txt'), 'hello');
  await pinakes(at, 'put', 'text.txt');
  for (const [code, ...argv] of refused) {
    const { code: exitCode, err } = pinakesProcess(at, ...argv);
    assert.equal(exitCode, 2, argv.join(' '));
    const last = err.trimEnd().split('\n').at(-1)!;
    const { error } = JSON.parse(last) as { error: { code: string; message: string } };
    assert.equal(error.code, code, last);
    assert.notEqual(error.message, '');
  }
});

test('with --json the advice names the archive once, also with quotes in its name', async (t) => {
  const at = scratch(t);
  const { err } = pinakesProcess(at, 'stats', '--archive', 'an "old" one', '--json');
  const { error } = JSON.parse(err) as { error: { advice: string } };
  assert.match(error.advice, /^Make one with `pinakes init --archive 'an "old" one'`/);
});

test('the next command that init shows has the name by which the program was called', (t) => {
  const at = scratch(t);
  const env = { ...process.env, PINAKES_PROGRAM: './pinakes' };
  const { stderr } = spawnSync(LAUNCHER, ['init'], { cwd: at, env, encoding: 'utf8' });
  assert.match(stderr, /^Next: \.\/pinakes add FILES/);
});

test('delete without a terminal says which option to add', async (t) => {
  const at = scratch(t);
  await pinakes(at, 'init');
  writeFileSync(join(at, 'text.txt'), 'hello');
  await pinakes(at, 'put', 'text.txt');
  const { code, err } = pinakesProcess(at, 'delete', '--collection', 'default');
  assert.equal(code, 2);
  assert.match(err, /delete: the command needs a confirmation.*\[CONFIRMATION_NEEDED\]\n {2}Add --yes.*--dry-run/);
});
