import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../../api/replies.ts';
import { endSentence, jobTitle, kindTitle, reportSentences } from './job-report.ts';

const KINDS = ['add', 'delete', 'takedown', 'compact', 'verify', 'rebuild', 'crawl', 'export'];

test('a number that the report does not have is not shown', () => {
  for (const kind of KINDS)
    for (const report of [undefined, {}, { exitCode: 0 }, { exitCode: 1 }, { counts: {} }])
      assert.deepEqual(reportSentences(kind, report), [], kind);
});

test('a report is summed up in sentences; without the counts, "no damage" is not shown', () => {
  const verified = { exitCode: 1, records: 12, segments: 2, bytes: 3000, errors: 3, warnings: 0 };
  assert.deepEqual(reportSentences('verify', verified), [
    'Read: 12 records in 2 segments, 3.0 KB.',
    '3 errors and 0 warnings were found; the log lists them.',
  ]);
  assert.equal(reportSentences('verify', { ...verified, errors: 0 }).at(-1), 'No damage was found.');
  assert.deepEqual(reportSentences('delete', { captures: 2, contents: 1 }), [
    '2 captures and 1 content were deleted.',
    'Their bytes stay on disk until the archive is compacted.',
  ]);
  assert.deepEqual(reportSentences('add', { unresolved: 1 }), [
    'The archive does not have the content of 1 revisit. Add the files that contain it.',
  ]);
  assert.deepEqual(reportSentences('crawl', { crawls: 0 }), ['No crawl was due.']);
  const failedUrls = [{ url: 'http://a.test/', reason: 'timeout' }];
  const crawled = { counts: { pages: 0, captures: 0, bytes: 0, failed: 2 }, failedUrls, outcome: 'done' };
  assert.deepEqual(reportSentences('crawl', crawled).slice(1), [
    '2 addresses could not be fetched, among them:',
    'http://a.test/: timeout',
  ]);
});

test('duplicates of a crawl are counted once, and refused addresses get advice about private networks', () => {
  const counts = { pages: 3, captures: 3, bytes: 9, duplicate: 1, unchanged: 2, notModified: 2, failed: 1 };
  const sentences = reportSentences('crawl', { counts, failedUrls: [], outcome: 'done' });
  assert.ok(sentences.includes('The archive already had the content of 3 captures.'), sentences.join('\n'));
  assert.doesNotMatch(sentences.join('\n'), /privateNetworks/);
  const refused = { counts: { ...counts, failures: { 'address-refused': 1 } }, failedUrls: [], outcome: 'done' };
  assert.match(reportSentences('crawl', refused).join('\n'), /archive\.yaml.*privateNetworks/);
});

test('damage is shown for added files, for the file of an export, and for segments that compaction could not rewrite', () => {
  const added = { files: 1, captures: 3, capturesKnown: 0, errors: 2, warnings: 1 };
  assert.deepEqual(reportSentences('add', added), [
    '1 file read: 3 new captures, 0 captures already in the archive.',
    'The files have 2 errors and 1 warning; the log lists the last of them. All readable records were kept.',
  ]);
  assert.equal(reportSentences('add', { ...added, errors: 0 }).length, 1);
  const exported = { captures: 3, bytes: 3000, unresolved: 0, damaged: 2, leftOut: 1 };
  assert.deepEqual(reportSentences('export', exported), [
    'Written: 3 captures, 3.0 KB.',
    'The file has 2 damaged records, as stored or as far as readable.',
    'Left out as unreadable: 1 damaged record.',
    'The log lists them. Restore these segments from a backup, then export again.',
  ]);
  assert.deepEqual(reportSentences('export', { ...exported, damaged: 0, leftOut: 0 }), [
    'Written: 3 captures, 3.0 KB.',
  ]);
  const compacted = { segments: 0, bytesBefore: 0, bytesAfter: 0, readOnly: [], waiting: [], kept: [], damaged: [] };
  assert.deepEqual(reportSentences('compact', compacted), ['There was nothing to free.']);
  assert.deepEqual(
    reportSentences('compact', { ...compacted, damaged: [{ segment: 'a', why: 'b' }], kept: [{}, {}] }),
    [
      'Not compacted: 1 segment with deleted records, because of damage. Restore the file from a backup.',
      'Not compacted: 2 segments with deleted records, because a snapshot needs the records.',
    ],
  );
  assert.deepEqual(reportSentences('compact', { ...compacted, doubled: [{ segment: 'a', volume: 'second' }] }), [
    'Not compacted: 1 segment with deleted records, because another volume has a different file of the same name.',
  ]);
});

test('an exit code is shown in words', () => {
  assert.match(endSentence({ exitCode: 1 }), /found errors/);
  assert.match(endSentence({ exitCode: 2 }), /failed/);
  assert.match(endSentence({ exitCode: 130 }), /interrupted/);
  assert.equal(endSentence({ captures: 1 }), '');
});

test('the title of a command job names the subject of the command', () => {
  const title = (kind: string, ...argv: string[]) =>
    jobTitle({ id: '1', kind, state: 'done', createdAt: '', input: { argv: [kind, ...argv], directory: '/' } } as Job);
  assert.equal(title('verify', '--archive', 'served', '--quick'), 'Verify the archive');
  assert.equal(
    title('add', '-a', 'x', '--json', 'one.warc.gz', 'b.arc', '--collection', 'c'),
    'Add files: one.warc.gz and 1 more',
  );
  assert.equal(title('delete', '--yes', '--prefix', 'http://a.test/'), 'Delete captures: http://a.test/');
  assert.equal(title('delete', '--collection=spring', '--url', 'http://a.test/'), 'Delete captures: spring');
  assert.equal(title('crawl', '--again', '--budget', '5'), 'Crawl');
  assert.equal(title('crawl', '--due'), 'Crawl: due crawls');
  assert.equal(title('crawl', '--again', 'news', '--no-sitemaps'), 'Crawl: news');
  assert.equal(title('crawl', '--pages', '5', 'http://a.test/'), 'Crawl: http://a.test/');
});

test('a takedown says what was barred, and whether the bytes are gone', () => {
  const report = { captures: 2, contents: 1, urls: 0, isGone: false, unsealed: [], uncompacted: ['a.warc.gz'] };
  assert.deepEqual(reportSentences('takedown', report), [
    '1 content and 0 URLs were barred for good, and 2 captures deleted.',
    'Bytes of them may still be on disk until the archive is compacted.',
  ]);
  assert.match(reportSentences('takedown', { ...report, isGone: true })[1]!, /^No file has bytes/);
  assert.equal(kindTitle('takedown'), 'Take contents down');
});
