import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { seededIds, seededRandom } from '../../base/index.ts';
import { CommandSocket } from './command-socket.ts';

const isWindows = process.platform === 'win32';
const newId = seededIds(seededRandom(3));

function scratch(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'p-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function open(t: TestContext, archive: string): Promise<CommandSocket> {
  const socket = await CommandSocket.open(archive, newId);
  t.after(() => socket.stop(AbortSignal.abort()));
  return socket;
}

function runtimeDirectory(t: TestContext, directory: string | undefined): void {
  const before = process.env.XDG_RUNTIME_DIR;
  const set = (value: string | undefined) => {
    if (value === undefined) delete process.env.XDG_RUNTIME_DIR;
    else process.env.XDG_RUNTIME_DIR = value;
  };
  set(directory);
  t.after(() => set(before));
}

test('the socket is in the archive, in a directory that only its owner may enter, and is removed with the server', {
  skip: isWindows && 'named pipes are not files',
}, async (t) => {
  const archive = scratch(t);
  const socket = await open(t, archive);
  assert.equal(dirname(dirname(socket.path)), archive);
  assert.equal(statSync(dirname(socket.path)).mode & 0o777, 0o700);
  assert.equal(statSync(socket.path).mode & 0o777, 0o600);
  await socket.stop(AbortSignal.abort());
  assert.deepEqual(readdirSync(archive), []);
});

test('when the path of the archive is too long, the socket is in the runtime directory or the temporary directory', {
  skip: isWindows && 'named pipes are not files',
}, async (t) => {
  const archive = join(scratch(t), 'x'.repeat(100));
  mkdirSync(archive);
  const runtime = scratch(t);
  runtimeDirectory(t, runtime);
  const first = await open(t, archive);
  assert.equal(dirname(dirname(first.path)), runtime);
  assert.ok(Buffer.byteLength(first.path) <= 100);
  await first.stop(AbortSignal.abort());
  assert.deepEqual([readdirSync(archive), readdirSync(runtime)], [[], []]);
  for (const missing of [undefined, join(runtime, 'missing')]) {
    runtimeDirectory(t, missing);
    const second = await open(t, archive);
    assert.equal(dirname(dirname(second.path)), tmpdir());
    assert.equal(statSync(dirname(second.path)).mode & 0o777, 0o700);
    await second.stop(AbortSignal.abort());
  }
});

test('a leftover directory is removed only when it contains nothing but a socket', {
  skip: isWindows && 'named pipes are not files',
}, async (t) => {
  const archive = scratch(t);
  mkdirSync(join(archive, 'commands-abcdef'));
  const dead = createServer().listen(join(archive, 'commands-abcdef', 'socket'));
  t.after(() => dead.close());
  mkdirSync(join(archive, 'commands-of-mine', 'notes'), { recursive: true });
  const socket = await open(t, archive);
  assert.deepEqual(
    readdirSync(archive).sort(),
    [dirname(socket.path).slice(archive.length + 1), 'commands-of-mine'].sort(),
  );
});

test('a link with the name of a leftover directory is not followed', {
  skip: isWindows && 'named pipes are not files',
}, async (t) => {
  const archive = scratch(t);
  const elsewhere = scratch(t);
  writeFileSync(join(elsewhere, 'socket'), 'of another program');
  symlinkSync(elsewhere, join(archive, 'commands-abcdef'));
  await open(t, archive);
  assert.deepEqual(readdirSync(elsewhere), ['socket']);
});
