import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileError, PinakesError, readingFile, writingFile } from './error.ts';
import { ERROR_CATALOGUE } from './error-catalogue.ts';

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
}

function codeOf(error: unknown): string {
  assert.ok(error instanceof PinakesError, `not translated: ${String(error)}`);
  return error.code;
}

test('an error has its place, its sentence, details, and advice', () => {
  const error = new PinakesError('FILE_MISSING', { where: 'a/b.warc.gz', detail: 'second of three' });
  assert.equal(error.message, 'a/b.warc.gz: there is no such file or directory (second of three)');
  assert.equal(error.where, 'a/b.warc.gz');
  assert.equal(error.advice, ERROR_CATALOGUE.FILE_MISSING.advice);
  assert.equal(error.retryable, false);
  assert.equal(error.name, 'PinakesError');
  assert.equal('cause' in error, false);
});

test('an error without place or details is its sentence alone', () => {
  const error = new PinakesError('DISK_FULL');
  assert.equal(error.message, ERROR_CATALOGUE.DISK_FULL.says);
  assert.equal(error.where, undefined);
  assert.equal(error.retryable, true);
});

test('failures of the file system get a code with advice for the user', () => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-error-'));
  try {
    const file = join(directory, 'file');
    writeFileSync(file, 'x');
    const missing = thrownBy(() => readFileSync(join(directory, 'absent')));
    const translated = fileError(missing, 'absent');
    assert.equal(codeOf(translated), 'FILE_MISSING');
    assert.equal((translated as PinakesError).cause, missing);
    assert.equal(
      codeOf(
        fileError(
          thrownBy(() => readFileSync(directory)),
          directory,
        ),
      ),
      'FILE_IS_DIRECTORY',
    );
    assert.equal(
      codeOf(
        fileError(
          thrownBy(() => readdirSync(file)),
          file,
        ),
      ),
      'FILE_MISSING',
    );
    assert.equal(
      codeOf(
        fileError(
          thrownBy(() => mkdirSync(directory)),
          directory,
        ),
      ),
      'FILE_EXISTS',
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a denied file is FILE_UNREADABLE when read and FILE_UNWRITABLE when written', () => {
  const denied = Object.assign(new Error('denied'), { code: 'EACCES' });
  assert.equal(codeOf(fileError(denied, 'a')), 'FILE_UNREADABLE');
  assert.equal(codeOf(fileError(denied, 'a', 'writing')), 'FILE_UNWRITABLE');
  const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
  assert.equal(codeOf(fileError(full, 'a', 'writing')), 'DISK_FULL');
});

test('missing paths, files that are too large and too many open files are failures with a code and a reason', () => {
  const failure = (code: string) => fileError(Object.assign(new Error(`${code}: reason`), { code }), 'a', 'writing');
  for (const code of ['ELOOP', 'ENAMETOOLONG', 'EFBIG']) {
    assert.equal(codeOf(failure(code)), 'FILE_UNWRITABLE');
    assert.match((failure(code) as PinakesError).message, /reason/);
  }
  for (const code of ['EMFILE', 'ENFILE']) {
    assert.equal(codeOf(failure(code)), 'OPEN_FILES_LIMIT');
    assert.equal((failure(code) as PinakesError).retryable, true);
  }
  for (const code of ['ENODEV', 'ENOTCONN', 'ENXIO', 'ESTALE', 'ETIMEDOUT']) {
    assert.equal(codeOf(failure(code)), 'DEVICE_FAILED');
    assert.match((failure(code) as PinakesError).message, /reason/);
  }
});

test('other failures pass through unchanged', () => {
  const bug = new TypeError('x is not a function');
  const socket = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  const odd = Object.assign(new Error('odd'), { code: 'toString' });
  for (const value of [bug, socket, odd, undefined, null, 'text', 7]) assert.equal(fileError(value, 'a'), value);
});

test('a failure while a file is read or written names the file, at once or later', async () => {
  const gone = Object.assign(new Error('gone'), { code: 'ENOENT' });
  const fail = () => {
    throw gone;
  };
  assert.throws(() => readingFile('a.warc', fail), { code: 'FILE_MISSING', where: 'a.warc' });
  await assert.rejects(
    writingFile('b.warc', () => Promise.reject(gone)),
    { code: 'FILE_MISSING', where: 'b.warc' },
  );
  assert.equal(await readingFile('c.warc', async () => 3), 3);
});

test('a failure to close a file does not hide the failure before it', () => {
  const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
  assert.equal(codeOf(fileError(new SuppressedError(new Error('close'), full), 'a.warc', 'writing')), 'DISK_FULL');
});
