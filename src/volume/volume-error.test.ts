import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AssertionError, PinakesError } from '../base/index.ts';
import { volumeError } from './volume-error.ts';

function system(code: string): Error {
  return Object.assign(new Error(`${code}: as the system says`), { code, syscall: 'write' });
}

test('the code of a system failure says whether a retry can help', () => {
  const expected = [
    ['ENOSPC', 'DISK_FULL', true],
    ['EDQUOT', 'DISK_FULL', true],
    ['EIO', 'VOLUME_IO', true],
    ['EMFILE', 'VOLUME_IO', true],
    ['ESTALE', 'VOLUME_IO', true],
    ['EROFS', 'VOLUME_READ_ONLY', false],
    ['EACCES', 'FILE_UNWRITABLE', false],
    ['EFBIG', 'FILE_UNWRITABLE', false],
    ['ENOENT', 'OBJECT_MISSING', false],
  ] as const;
  for (const [name, code, retryable] of expected) {
    const error = volumeError(system(name), 'volume main, object a', 'writing');
    assert.ok(error instanceof PinakesError);
    assert.deepEqual([error.code, error.retryable, error.where], [code, retryable, 'volume main, object a'], name);
    assert.match(error.message, new RegExp(name));
  }
  assert.equal((volumeError(system('EACCES'), 'x', 'reading') as PinakesError).code, 'FILE_UNREADABLE');
});

test('a failure to close a file does not hide the failure before it', () => {
  const both = new SuppressedError(system('EIO'), system('ENOSPC'));
  assert.equal((volumeError(both, 'x', 'writing') as PinakesError).code, 'DISK_FULL');
});

test('other errors pass unchanged', () => {
  const bug = new AssertionError('a bug');
  const known = new PinakesError('OBJECT_MOVED');
  const strange = new TypeError('strange');
  for (const cause of [bug, known, strange, undefined, 'text']) assert.equal(volumeError(cause, 'x', 'reading'), cause);
});
