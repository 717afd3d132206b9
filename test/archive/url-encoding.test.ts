/** URLs whose bytes are no UTF-8: what they are read as, that nothing of them is lost, and catalogs that have them as they were read in former times. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Archive } from '../../src/archive/index.ts';
import { urlKey } from '../../src/url/index.ts';
import { allCaptures, audit, bytesOf, contentOf, makeArchive, payloadAt } from './trial-archive.ts';

/** A member of a response; the letters of the URL are its bytes. */
function member(id: string, url: string, body: Uint8Array): Buffer {
  const lines = [
    'WARC/1.1',
    'WARC-Type: response',
    `WARC-Record-ID: <urn:latin:${id}>`,
    'WARC-Date: 2024-03-01T10:00:00Z',
    `WARC-Target-URI: ${url}`,
    'Content-Type: application/http; msgtype=response',
    `Content-Length: ${body.length + 19}`,
  ];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`, 'latin1');
  return gzipSync(Buffer.concat([head, body, Buffer.from('\r\n\r\n')]));
}

async function addMembers(archive: Archive, members: readonly Buffer[]) {
  const file = join(archive.directory, 'a.warc.gz');
  await writeFile(file, Buffer.concat(members));
  return archive.add([file]);
}

async function stored(archive: Archive): Promise<Buffer> {
  const [{ volume, name }] = archive.segments() as [ReturnType<Archive['segments']>[number]];
  return bytesOf(archive.volumes.get(volume).stream(name));
}

test('I4 Bytes pass through: URLs that are no UTF-8 stay apart, and their records are not written anew', async (t) => {
  const archive = await makeArchive(t);
  const members = [
    member('1', 'http://a.example/caf\xe9', contentOf('same')),
    member('2', 'http://a.example/caf\xe8', contentOf('same')),
  ];
  const report = await addMembers(archive, members);
  assert.deepEqual([report.captures, report.duplicates, report.failures], [2, 0, []]);
  assert.deepEqual((await allCaptures(archive)).map(({ url }) => url).sort(), [
    'http://a.example/caf\u00e8',
    'http://a.example/caf\u00e9',
  ]);
  assert.deepEqual(await payloadAt(archive, 'http://a.example/caf\u00e8'), Buffer.from(contentOf('same')));
  assert.ok((await stored(archive)).includes(Buffer.concat(members)));
  assert.deepEqual(await audit(archive), []);
});

test('a catalog that has such a URL as it was read in former times is sound, and compaction corrects it', async (t) => {
  const archive = await makeArchive(t);
  await addMembers(archive, [
    member('1', 'http://a.example/caf\xe9', contentOf('one')),
    member('2', 'http://a.example/gone', contentOf('two')),
  ]);
  const captures = await allCaptures(archive);
  const capture = captures.find(({ url }) => url.includes('caf'))!;
  const url = 'http://a.example/caf\ufffd';
  await archive.catalog.write({
    removeCaptures: [capture],
    putCaptures: [{ ...capture, url, urlKey: urlKey(url) }],
  });
  for (const depth of ['quick', 'full'] as const) {
    const problems: string[] = [];
    await archive.verify({ depth, onProblem: ({ message }) => void problems.push(message) });
    assert.deepEqual(problems, []);
  }
  await archive.delete({ url: 'http://a.example/gone' });
  await archive.compact();
  assert.deepEqual(await payloadAt(archive, 'http://a.example/caf\u00e9'), Buffer.from(contentOf('one')));
  assert.equal((await archive.verify()).errors, 0);
  assert.deepEqual(await audit(archive), []);
});
