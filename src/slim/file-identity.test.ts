import assert from 'node:assert/strict';
import { closeSync, existsSync, mkdtempSync, openSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { filesOpenForWriting } from './file-identity.ts';

const LOOKS = 1000;

/**
 * Opens one file for reading and another for writing, again and again, so that the system gives both the same
 * descriptor numbers in turn.
 */
const READS_AND_WRITES = `
  const { openSync, closeSync } = require('node:fs');
  const { read, written } = require('node:worker_threads').workerData;
  for (;;) {
    for (const open of [() => openSync(read, 'r'), () => openSync(written, 'r+')]) {
      for (const descriptor of Array.from({ length: 16 }, open)) closeSync(descriptor);
    }
  }
`;

test('a file that is open for writing is found, and a file that is only read is not', {
  skip: existsSync('/proc/self/fdinfo') ? false : 'the system does not list open files',
}, async () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'pinakes-open-')));
  const [read, written, held] = ['read', 'written', 'held'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [read, written, held]) writeFileSync(path, '');
  const descriptor = openSync(held, 'a');
  const worker = new Worker(READS_AND_WRITES, { eval: true, workerData: { read, written } });
  try {
    let looksWithRead = 0;
    for (let look = 0; look < LOOKS; look++) {
      const open = filesOpenForWriting();
      assert.ok(open.has(held));
      if (open.has(read)) looksWithRead++;
      // Waits until the thread runs.
      if (look === 0) await new Promise((resolve) => worker.once('online', resolve));
    }
    assert.equal(looksWithRead, 0);
  } finally {
    await worker.terminate();
    closeSync(descriptor);
    rmSync(directory, { recursive: true });
  }
});
