/**
 * The system calls of a directory volume, observed with strace, and its behaviour when calls fail, which strace
 * injects. Nothing is mocked: the calls and the failures are those at the border of the kernel.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createDirectoryVolume, openDirectoryVolume } from '../../src/volume/index.ts';
import type { Scenario } from './system-child.ts';
import { collect, contentsOf } from './volume.ts';

const straceRuns = spawnSync('strace', ['-f', '-e', 'trace=none', process.execPath, '-e', '']).status === 0;
const skip = !straceRuns && 'strace is not there or may not watch';

type Run = { readonly outcomes: Record<string, string>; readonly trace: string; readonly volume: string };

async function run(
  scenario: Scenario,
  straceOptions: readonly string[],
  body: (run: Run) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-system-'));
  try {
    const volume = join(directory, 'volume');
    const traceFile = join(directory, 'trace');
    await createDirectoryVolume('main', volume);
    const { stdout, stderr, status } = spawnSync(
      'strace',
      [
        '-f',
        '-y',
        '-o',
        traceFile,
        ...straceOptions,
        process.execPath,
        join(import.meta.dirname, 'system-child.ts'),
        volume,
        scenario,
      ],
      // One thread for files, so that the order of the calls is fixed and the n-th call is always the same.
      { env: { ...process.env, UV_THREADPOOL_SIZE: '1' } },
    );
    assert.equal(status, 0, String(stderr));
    const outcomes = JSON.parse(String(stdout)) as Record<string, string>;
    await body({ outcomes, trace: await readFile(traceFile, 'utf8'), volume });
  } finally {
    await rm(directory, { recursive: true });
  }
}

/**
 * The successful calls of each step, in order, as `call path`. The trace has two lines for a call that another call
 * interrupted.
 */
function callsByStep(trace: string, volume: string): Record<string, string[]> {
  const steps: Record<string, string[]> = {};
  const unfinished = new Map<string, string>();
  let calls: string[] = [];
  for (const line of trace.split('\n')) {
    const step = /"step (\w+)\\n"/.exec(line)?.[1];
    if (step) steps[step] = calls = [];
    const thread = line.slice(0, line.indexOf(' '));
    const begun = /^(.*) <unfinished \.\.\.>$/.exec(line)?.[1];
    if (begun) unfinished.set(thread, begun);
    const rest = /^\d+ +<\.\.\. \w+ resumed>(.*)$/.exec(line)?.[1];
    const whole = rest === undefined ? line : `${unfinished.get(thread)}${rest}`;
    const call = /^\d+ +(\w+)\((.*)\) += 0$/.exec(whole);
    const path = call && /[<"]([^>"]*)[>"][^<"]*$/.exec(call[2]!)?.[1];
    if (path?.startsWith(volume)) calls.push(`${call![1]} ${path.slice(volume.length + 1)}`);
  }
  return steps;
}

test('the calls that make data durable are made in the right order, before the acknowledgement', {
  skip,
}, async () => {
  await run('durable', ['-e', 'trace=fsync,fdatasync,rename,unlink,write'], async ({ outcomes, trace, volume }) => {
    assert.deepEqual(new Set(Object.values(outcomes)), new Set(['done']));
    const calls = callsByStep(trace, volume);
    assert.deepEqual(calls.create, []);
    assert.deepEqual(calls.sync, ['fdatasync c/d/a.open', 'fsync ', 'fsync c', 'fsync c/d']);
    assert.deepEqual(calls.truncate, ['fdatasync c/d/a.open']);
    assert.deepEqual(calls.seal, ['fdatasync c/d/a.open', 'rename c/d/a', 'fsync ', 'fsync c', 'fsync c/d']);
    assert.deepEqual(calls.rename, ['rename e/f', 'fsync ', 'fsync e', 'fsync c/d', 'fsync ']);
    assert.deepEqual(calls.remove, ['unlink e/f', 'fsync e', 'fsync ']);
  });
});

test('bytes whose sync failed are acknowledged only after they were cut off and written again', {
  skip,
}, async () => {
  await run('syncFails', ['-e', 'inject=fdatasync:error=EIO:when=2'], async ({ outcomes, volume }) => {
    assert.deepEqual(outcomes, {
      create: 'done',
      append: 'done',
      sync: 'done',
      appendMore: 'done',
      failingSync: 'VOLUME_IO',
      syncAgain: 'VOLUME_IO',
      appendAgain: 'OBJECT_MOVED',
      sealDoubted: 'VOLUME_IO',
      cutTooLittle: 'OBJECT_MOVED',
      cut: 'done',
      appendAfterCut: 'done',
      syncAfterCut: 'done',
    });
    const reopened = await openDirectoryVolume('main', volume, { writable: false });
    assert.equal(await contentsOf(reopened, 'a'), 'synced again');
    await reopened.close();
  });
});

test('after an append that failed and could not be undone, appends fail until the object is cut', {
  skip,
}, async () => {
  const faults = ['-e', 'inject=pwrite64,pwritev:error=ENOSPC:when=2', '-e', 'inject=ftruncate:error=EIO:when=1'];
  await run('appendCannotBeTakenBack', faults, async ({ outcomes, volume }) => {
    assert.deepEqual(outcomes, {
      create: 'done',
      append: 'done',
      failingAppend: 'DISK_FULL',
      appendAgain: 'OBJECT_MOVED',
      sync: 'VOLUME_IO',
      cut: 'done',
      appendAfterCut: 'done',
      syncAfterCut: 'done',
    });
    const reopened = await openDirectoryVolume('main', volume, { writable: false });
    assert.equal(await contentsOf(reopened, 'a'), 'whole again');
    await reopened.close();
  });
});

test('a short write is continued where it stopped, also in the middle of a part', {
  skip,
}, async () => {
  // The first call reports 7000 bytes and writes none, so the later bytes show where the next call continued.
  await run('shortWrite', ['-e', 'inject=pwritev:retval=7000:when=1'], async ({ outcomes, volume }) => {
    assert.deepEqual(new Set(Object.values(outcomes)), new Set(['done']));
    const reopened = await openDirectoryVolume('main', volume, { writable: false });
    const written = Buffer.from(await collect(reopened.stream('a')));
    assert.deepEqual(written, Buffer.concat([Buffer.alloc(7000), Buffer.alloc(3000, 2)]));
    await reopened.close();
  });
});

test('every later sync and seal fails in a folder whose sync failed', { skip }, async () => {
  await run('folderSyncFails', ['-e', 'inject=fsync:error=EIO:when=2'], async ({ outcomes }) => {
    assert.deepEqual(outcomes, {
      create: 'done',
      failingSync: 'VOLUME_IO',
      syncAgain: 'VOLUME_IO',
      seal: 'VOLUME_IO',
    });
  });
});

test('an object whose sealing failed after the rename cannot be appended to', { skip }, async () => {
  await run('sealFails', ['-e', 'inject=fsync:error=EIO:when=3'], async ({ outcomes, volume }) => {
    assert.deepEqual(outcomes, {
      create: 'done',
      append: 'done',
      sync: 'done',
      failingSeal: 'VOLUME_IO',
      appendAfterwards: 'OBJECT_MOVED',
      sealAgain: 'VOLUME_IO',
    });
    const reopened = await openDirectoryVolume('main', volume, { writable: true });
    assert.deepEqual(await reopened.list(), [{ name: 'a', bytes: 5, sealed: true }]);
    await reopened.close();
  });
});
