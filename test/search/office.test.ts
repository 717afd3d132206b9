/** An office document from capture to search: found by its words and its type, with its links in the graph. */
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { ZipFile } from 'yazl';
import { utf8 } from '../../src/base/index.ts';
import { openSearch } from '../../src/search/index.ts';
import { makeArchive, NOON } from '../archive/trial-archive.ts';
import { indexed } from './trial-pages.ts';

const MIME = 'application/vnd.oasis.opendocument.text';

function document(text: string): Promise<Buffer> {
  const file = new ZipFile();
  const content =
    '<office:document-content><office:body><office:text><text:h>Holdings</text:h>' +
    `<text:p>${text} <text:a xlink:href="http://linked.test/">elsewhere</text:a></text:p></office:text></office:body></office:document-content>`;
  file.addBuffer(utf8(MIME) as Buffer, 'mimetype', { compress: false });
  file.addBuffer(utf8(content) as Buffer, 'content.xml');
  file.addBuffer(utf8('<m><dc:title>Yearly report</dc:title></m>') as Buffer, 'meta.xml');
  file.end();
  return buffer(file.outputStream);
}

test('an office document is found by its words, its title and its type, and its links count', async (t) => {
  const archive = await makeArchive(t);
  const body = await document('The library has forty thousand scrolls.');
  const head = (mime: string) => utf8(`HTTP/1.1 200 OK\r\nContent-Type: ${mime}\r\n\r\n`);
  await archive.store({ kind: 'http', url: 'http://a.test/report.odt', time: NOON, responseHead: head(MIME), body });
  const unnamed = await document('An untyped document.');
  const blank = head('application/octet-stream');
  await archive.store({ kind: 'http', url: 'http://a.test/file', time: NOON, responseHead: blank, body: unnamed });
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const urls = async (query: string) => (await search.search(query)).items.map(({ url }) => url);
  assert.deepEqual(await urls('"forty thousand scrolls"'), ['http://a.test/report.odt']);
  assert.deepEqual(await urls('title:report heading:holdings type:office'), ['http://a.test/report.odt']);
  assert.deepEqual(await urls('"untyped document"'), ['http://a.test/file']);
  const { items } = await search.links('http://linked.test/', { direction: 'in' });
  assert.deepEqual(items.map(({ url, text }) => `${url} ${text}`).sort(), [
    'http://a.test/file elsewhere',
    'http://a.test/report.odt elsewhere',
  ]);
});
