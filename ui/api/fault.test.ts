import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultAdvice, faultPlace, faultSentence } from './fault.ts';

test('a sentence does not repeat the value that it is about, and does not capitalize typed text', () => {
  const picture = {
    code: 'NOT_WARC',
    message: 'photo.warc.gz: this is neither a WARC nor an ARC file',
    where: 'photo.warc.gz',
  };
  assert.equal(faultSentence(picture), 'This is neither a WARC nor an ARC file');
  assert.equal(faultPlace(picture), 'photo.warc.gz');
  const time = { code: 'BAD_REQUEST', message: 'the time is not valid', where: 'yesterday' };
  assert.equal(faultSentence(time), 'The time is not valid');
  assert.equal(faultPlace(time), 'yesterday');
  const field = { code: 'BAD_REQUEST', message: 'body/from must be string', where: 'body/from' };
  assert.equal(faultSentence(field), 'From must be string.');
  assert.equal(faultPlace(field), undefined);
  const command = { code: 'COMMAND_FAILED', message: 'pinakes: a.warc: there is no such file', where: 'add' };
  assert.equal(faultSentence(command), 'a.warc: there is no such file');
  assert.equal(faultPlace(command), undefined);
});

test('advice is for people in front of a browser', () => {
  const missing = { code: 'CONTENT_MISSING', message: 'x', advice: 'Look with `pinakes get URL --at TIME`.' };
  assert.doesNotMatch(faultAdvice(missing)!, /pinakes/);
  assert.equal(faultAdvice({ code: 'BAD_ARGUMENT', message: 'x', advice: 'See the command with --help.' }), undefined);
  const job = { code: 'JOB_MISSING', message: 'x', advice: 'GET /api/jobs lists the jobs.' };
  assert.doesNotMatch(faultAdvice(job)!, /api/);
  assert.equal(faultAdvice({ code: 'DISK_FULL', message: 'x', advice: 'Make room.' }), 'Make room.');
});
