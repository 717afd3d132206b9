import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeDirectories } from './make-directories.ts';

async function trialDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-make-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test('a directory is made with its missing parents, and the outermost new one is returned', async (t) => {
  const directory = await trialDirectory(t);
  assert.equal(await makeDirectories(join(directory, 'a', 'b', 'c')), join(directory, 'a'));
  assert.ok((await stat(join(directory, 'a', 'b', 'c'))).isDirectory());
  assert.equal(await makeDirectories(join(directory, 'a', 'b', 'd')), join(directory, 'a', 'b', 'd'));
  assert.equal(await makeDirectories(join(directory, 'a', 'b')), undefined);
});

test('several callers can make the same directories at once', async (t) => {
  const directory = await trialDirectory(t);
  await Promise.all(Array.from({ length: 20 }, (_, at) => makeDirectories(join(directory, 'x', 'y', String(at % 4)))));
  assert.ok((await stat(join(directory, 'x', 'y', '3'))).isDirectory());
});

test('a file or a dangling link in the way is an error', async (t) => {
  const directory = await trialDirectory(t);
  await writeFile(join(directory, 'file'), '');
  await symlink(join(directory, 'nowhere'), join(directory, 'link'));
  await assert.rejects(makeDirectories(join(directory, 'file')), { code: 'EEXIST' });
  await assert.rejects(makeDirectories(join(directory, 'file', 'below')), { code: 'ENOTDIR' });
  await assert.rejects(makeDirectories(join(directory, 'link')), { code: 'EEXIST' });
  await assert.rejects(makeDirectories(join(directory, 'link', 'below')));
});

test('a file system that takes no new names is an error', { skip: process.platform !== 'linux' }, async () => {
  await assert.rejects(makeDirectories('/proc/pinakes-trial/below'), {
    code: 'FILE_UNWRITABLE',
    where: '/proc/pinakes-trial',
  });
});
