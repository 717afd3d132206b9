import assert from 'node:assert/strict';
import { readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { utf8 } from '../../src/base/index.ts';
import { MemberEncoder, readRecords, recordParts } from '../../src/warc/index.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { contentOf, makeArchive, NOON, temporaryDirectory } from './trial-archive.ts';

/** Responses of a crawler. The last one can be cut off in the middle. */
async function writeCrawl(path: string, coding: 'gzip' | 'none', cutBytes = 0): Promise<void> {
  const encoder = new MemberEncoder({ coding });
  const members = ['one', 'two', 'three'].map((name, index) =>
    encoder.encode(
      recordParts(
        {
          type: 'response',
          recordId: `<urn:uuid:00000000-0000-4000-8000-${coding.padStart(11, '0')}${index}>`,
          date: '2024-01-01T00:00:00Z',
          targetUri: `http://a.test/${coding}/${name}`,
          contentType: 'application/http; msgtype=response',
        },
        Buffer.concat([utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n'), contentOf(name)]),
      ),
    ),
  );
  encoder.close();
  const whole = Buffer.concat(members);
  await writeFile(path, whole.subarray(0, whole.length - cutBytes));
}

const ARC = `filedesc://crawl.arc 0.0.0.0 20240101000000 text/plain 73
1 0 Crawler
URL IP-address Archive-date Content-type Archive-length

http://a.test/arc 192.0.2.1 20240101000000 text/html 49
HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hi
`;

for (const { cutBytes, isMoved } of [
  { cutBytes: 300, isMoved: false },
  { cutBytes: 5, isMoved: false },
  { cutBytes: 300, isMoved: true },
  { cutBytes: 5, isMoved: true },
])
  test(`files ${isMoved ? 'that were moved into the archive' : 'used in place'} are streamed and exported as WARC: one cut short by ${cutBytes} bytes, one uncompressed, one ARC`, async (t) => {
    const archive = await makeArchive(t);
    const at = await temporaryDirectory(t);
    await writeCrawl(join(at, 'cut.warc.gz'), 'gzip', cutBytes);
    await writeCrawl(join(at, 'plain.warc'), 'none');
    await writeFile(join(at, 'crawl.arc'), ARC);
    const files = ['cut.warc.gz', 'plain.warc', 'crawl.arc'].map((name) => join(at, name));
    const report = await archive.add(files, { inPlace: true });
    assert.deepEqual(report.failures, []);
    if (isMoved) await archive.migrate('linked', 'main');
    const expected: string[] = [];
    for (const { url } of (await archive.captures({})[Symbol.asyncIterator]().next()).value ?? []) expected.push(url);
    assert.ok(expected.length >= 6, expected.join(' '));

    const streamed: Buffer[] = [];
    for await (const { bytes } of archive.streamWarc({ wholeSegments: true })) streamed.push(Buffer.from(bytes));
    await writeFile(join(at, 'streamed.warc.gz'), Buffer.concat(streamed));
    await archive.exportWarc({}, join(at, 'exported.warc.gz'), { software: 'pinakes/test', selfContained: true });

    for (const name of ['streamed.warc.gz', 'exported.warc.gz']) {
      const path = join(at, name);
      const urls: string[] = [];
      const onFinding = ({ code, message }: { code: string; message: string }) =>
        assert.fail(`${name}: ${code} ${message}`);
      for await (const { head } of readRecords(path, { onFinding })) {
        assert.equal(head.format, 'warc');
        if (head.type === 'response') urls.push(head.targetUri!);
      }
      for (const url of expected) assert.ok(urls.includes(url), `${name} lacks ${url}`);
      assert.ok(gunzipSync(await readFile(path)).length > 0);
    }
  });

for (const isMoved of [false, true])
  test(`a large record that lacks the end of its member is exported as a whole member, ${isMoved ? 'moved into the archive' : 'in place'}`, async (t) => {
    const archive = await makeArchive(t);
    const at = await temporaryDirectory(t);
    const large = response('http://a.test/large', NOON, contentOf('large', 10 * 1024 * 1024));
    const file = await writeForeign(join(at, 'torn.warc.gz'), [large]);
    await truncate(file, (await stat(file)).size - 5);
    await archive.add([file], { inPlace: true });
    if (isMoved) await archive.migrate('linked', 'main');
    await archive.exportWarc({}, join(at, 'exported.warc.gz'), { software: 'pinakes/test', concurrentRecords: false });
    assert.ok(gunzipSync(await readFile(join(at, 'exported.warc.gz'))).includes(Buffer.from(large.block)));
  });

test('the warcinfo of a crawler is exported with its captures, also when the file was moved into the archive', async (t) => {
  const archive = await makeArchive(t);
  const at = await temporaryDirectory(t);
  const page = response('http://a.test/', NOON, contentOf('page'));
  await archive.add([await writeForeign(join(at, 'crawl.warc.gz'), [warcinfo(), page])], { inPlace: true });
  for (const name of ['linked.warc.gz', 'moved.warc.gz']) {
    await archive.exportWarc({}, join(at, name), { software: 'pinakes/test' });
    assert.match(gunzipSync(await readFile(join(at, name))).toString(), /software: another crawler/, name);
    if (name === 'linked.warc.gz') await archive.migrate('linked', 'main');
  }
});
