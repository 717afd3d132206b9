/** Appends that fail half way for lack of space, as the real operating system fails them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Filled } from './filling-child.ts';

const CHILD = join(import.meta.dirname, 'filling-child.ts');

function run(script: string, directory: string): Filled {
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script, 'bash', process.execPath, CHILD, directory]);
  assert.equal(status, 0, String(stderr));
  return JSON.parse(String(stdout)) as Filled;
}

function inDirectory(body: (directory: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-room-'));
  try {
    body(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const onSmallDisk = 'mount -t tmpfs -o size=1m none "$3" && exec "$1" "$2" "$3/volume"';
const mayMount = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=1m none /mnt']).status === 0;
const noLimit = process.platform === 'win32' && 'no limits on the size of files here';

test('an append that the file size limit stops half way is undone, and the object can be appended to', {
  skip: noLimit,
}, () => {
  inDirectory((directory) => {
    const filled = run('ulimit -f 500 && exec "$1" "$2" "$3"', directory);
    assert.deepEqual(filled, {
      code: 'FILE_UNWRITABLE',
      retryable: false,
      appendedBytes: 510_476,
      bytesAfter: 510_476,
      bytesReopened: 510_476,
      goesOn: true,
    });
  });
});

test('an append that a full disk stops half way is undone and fails with DISK_FULL, which can be retried', {
  skip: !mayMount && 'no right to mount a small disk',
}, () => {
  inDirectory((directory) => {
    const filled = run(`exec unshare -rm bash -c '${onSmallDisk}' "$0" "$1" "$2" "$3"`, directory);
    assert.equal(filled.code, 'DISK_FULL');
    assert.equal(filled.retryable, true);
    assert.equal(filled.appendedBytes % 30_028, 0);
    assert.ok(filled.appendedBytes > 800_000);
    assert.equal(filled.bytesAfter, filled.appendedBytes);
    assert.equal(filled.bytesReopened, filled.appendedBytes);
    assert.equal(filled.goesOn, true);
  });
});
