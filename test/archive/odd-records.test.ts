/** Adding records that can be read although something about them is wrong. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type ForeignRecord, foreignId, response, writeForeign } from './foreign-file.ts';
import { allCaptures, audit, bytesOf, contentOf, makeArchive, NOON, walk } from './trial-archive.ts';

for (const date of ['2024-02-30T00:00:00Z', '', 'blue monday', '1709287200']) {
  test(`I10 Dirty input is data: a response with the date ${JSON.stringify(date)} is kept as it is and is not a capture`, async (t) => {
    const archive = await makeArchive(t);
    const sound = response('http://a.example/sound', NOON, contentOf('same'));
    const { record, block } = response('http://a.example/odd', NOON, contentOf('same'));
    const odd = { record: { ...record, date }, block };
    const report = await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [odd, sound, odd])]);
    assert.deepEqual([report.captures, report.duplicates, report.failures], [1, 0, []]);
    assert.equal(report.undated, 2);
    const kept = (await walk(archive)).filter(({ head }) => head.recordId === record.recordId);
    assert.deepEqual(
      kept.map(({ head }) => head.type),
      ['response', 'response'],
    );
    assert.equal((await archive.verify()).errors, 0);
  });
}

test('I10 Dirty input is data: a line end inside a value is read as a blank, except in a URI, and the record keeps its bytes', async (t) => {
  const archive = await makeArchive(t);
  const odd = (id: string, url: string, body: Uint8Array) => {
    const message = Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nX-Odd: a\rb\r\n\r\n'), body]);
    const lines = [
      'WARC/1.1',
      'WARC-Type: response',
      `WARC-Record-ID: <urn:odd:${id}>`,
      'WARC-Date: 2024-03-01T10:00:00Z\r',
      `WARC-Target-URI: ${url}`,
      'WARC-IP-Address: 192.0.2.1\r\r\r',
      'Content-Type: application/http\r; msgtype=response',
      `Content-Length: ${message.length}`,
    ];
    return gzipSync(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), message, Buffer.from('\r\n\r\n')]));
  };
  const whole = odd('1', 'http://a.example/one\rtwo', contentOf('same'));
  const duplicate = odd('2', 'http://a.example/other\rurl\r', contentOf('same'));
  const file = join(archive.directory, 'a.warc.gz');
  await writeFile(file, Buffer.concat([whole, duplicate]));
  const report = await archive.add([file]);
  assert.deepEqual([report.captures, report.duplicates, report.failures], [2, 1, []]);
  assert.deepEqual(
    (await allCaptures(archive)).map(({ url }) => url),
    ['http://a.example/one%0Dtwo', 'http://a.example/other%0Durl'],
  );
  const segment = (await archive.segments()).find(({ name }) => name.startsWith('default/odd-'));
  const stored = await bytesOf(archive.segmentBytes(segment!.name));
  assert.ok(stored.includes(whole), 'the record is stored as it was');
  assert.deepEqual(await audit(archive), []);
  assert.equal((await archive.verify()).errors, 0);
});

test('I7 Never a false duplicate: a content that continues in other records is not compared by its first part', async (t) => {
  const archive = await makeArchive(t);
  const segmented = (time: number, rest: string): ForeignRecord[] => {
    const url = 'http://a.example/segmented';
    const first = response(url, time, contentOf('first part'), [{ name: 'WARC-Segment-Number', value: '1' }]);
    const { date, recordId } = first.record;
    const fields = [
      { name: 'WARC-Segment-Number', value: '2' },
      { name: 'WARC-Segment-Origin-ID', value: recordId },
    ];
    const continuation = { type: 'continuation', recordId: foreignId(), date, targetUri: url, fields } as const;
    return [first, { record: continuation, block: contentOf(rest) }];
  };
  const records = [...segmented(NOON, 'one rest'), ...segmented(NOON + 1000, 'another rest')];
  const report = await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), records)]);
  assert.deepEqual([report.captures, report.duplicates, report.failures], [2, 0, []]);
  assert.deepEqual(
    (await allCaptures(archive)).map(({ kind }) => kind),
    ['response', 'response'],
  );
  assert.deepEqual(await audit(archive), []);
});
