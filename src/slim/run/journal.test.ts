import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { JOURNAL_VERSION, Journal, type JournalEntry } from './journal.ts';

const BEGIN: JournalEntry = {
  kind: 'begin',
  version: JOURNAL_VERSION,
  terms: {
    mode: 'to',
    target: '/t',
    keptDirectory: '',
    algorithm: 'sha256',
    verify: 'digest',
    minSavingBytes: 1,
    manifests: '',
  },
  startMs: 0,
  prefixDigits: 0,
};

function withJournal(body: (path: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-journal-'));
  try {
    body(join(directory, 'journal.jsonl'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('a journal returns the entries that were added, and drops an incomplete last line', () => {
  withJournal((path) => {
    const journal = new Journal(path);
    journal.add(BEGIN);
    journal.add({ kind: 'installed', file: 3 });
    journal.close();
    const whole = readFileSync(path, 'utf8');
    appendFileSync(path, '{"kind":"instal');
    const again = new Journal(path);
    assert.deepEqual(again.entries, [BEGIN, { kind: 'installed', file: 3 }]);
    again.add({ kind: 'finished' });
    again.close();
    assert.equal(readFileSync(path, 'utf8'), `${whole}{"kind":"finished"}\n`);
  });
});

test('a journal of another version, or damaged in the middle, is refused', () => {
  withJournal((path) => {
    for (const text of [JSON.stringify({ ...BEGIN, version: 99 }), '{"kind":\n{}', '{"kind":"finished"}']) {
      writeFileSync(path, `${text}\n`);
      assert.throws(() => new Journal(path), { code: 'SLIM_JOURNAL' });
    }
  });
});

test('an entry that does not fit on the disk leaves no partial line, and the next entry can be read', {
  skip: process.platform === 'win32' && 'this system cannot limit the size of files',
}, () => {
  withJournal((path) => {
    const journal = new Journal(path);
    journal.add(BEGIN);
    journal.close();
    const script = `
      const { Journal } = await import(${JSON.stringify(new URL('journal.ts', import.meta.url).href)});
      const journal = new Journal(${JSON.stringify(path)});
      try {
        journal.add({ kind: 'planned', source: 'x'.repeat(5000) });
      } catch ({ code }) {
        process.stdout.write(code);
      }
      journal.add({ kind: 'finished' });
    `;
    const args = ['-c', 'ulimit -f 1 && exec "$1" --input-type=module -e "$2"', 'bash', process.execPath, script];
    const { stdout, stderr, status } = spawnSync('bash', args);
    assert.equal(status, 0, String(stderr));
    assert.notEqual(String(stdout), '');
    const again = new Journal(path);
    again.close();
    assert.deepEqual(again.entries, [BEGIN, { kind: 'finished' }]);
  });
});
