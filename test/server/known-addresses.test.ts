/**
 * The paths of the UI socket: every screen can be reloaded, unknown paths get a 404, and programs such as cdx_toolkit
 * get stored bytes.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { utf8 } from '../../src/base/index.ts';
import { contentOf, makeArchive, page, temporaryDirectory } from '../archive/trial-archive.ts';
import { ask, makeServer } from './trial-server.ts';

const TIME = Date.UTC(2024, 2, 1, 10);
const NAVIGATION_FIELDS = { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate', accept: 'text/html' };
const ROUTES = new URL('../../ui/app/route.ts', import.meta.url);
/** The Python interpreter with cdx_toolkit. */
const PYTHON = process.env.CDX_TOOLKIT_PYTHON ?? 'python3';
const isToolkitAbsent = spawnSync(PYTHON, ['-c', 'import cdx_toolkit']).status !== 0;

test('every screen of the UI is served at its path, and unknown paths get a 404', async (t) => {
  const uiDirectory = await temporaryDirectory(t);
  await writeFile(join(uiDirectory, 'index.html'), '<!doctype html><title>the application</title>');
  await mkdir(join(uiDirectory, 'assets'));
  const { server } = await makeServer(t, { uiDirectory });
  const host = new URL(server.uiUrl).host;
  const screens = [...(await readFile(ROUTES, 'utf8')).matchAll(/case '([a-z]*\/\*?)':/g)].map(([, path]) => path!);
  assert.ok(screens.includes('collections/*') && screens.includes('search/'), String(screens));
  for (const screen of screens) {
    const path = screen === '/' ? screen : `/${screen.replace('*', 'a%20name.of-it')}`;
    for (const target of new Set([path, path.replace(/(.)\/$/, '$1'), `${path}?q=a`]))
      assert.match(
        (await ask(server.uiAddress, target, { headers: { host, ...NAVIGATION_FIELDS } })).text,
        /the application/,
        target,
      );
  }
  const unknown = [
    '/nowhere',
    '/nowhere/',
    '/jobs/a/b',
    '/collections/a/b',
    '/search/a',
    '/wayback/',
    '/index',
    '//',
    '/Jobs',
    '/assets',
  ];
  for (const target of unknown) {
    for (const headers of [{ host, ...NAVIGATION_FIELDS }, { host }] as Record<string, string>[]) {
      const reply = await ask(server.uiAddress, target, { headers });
      assert.equal(reply.status, 404, target);
      assert.doesNotMatch(reply.text, /the application/, target);
    }
  }
});

test('a program gets stored bytes from the UI socket, and a browser is redirected to the replay origin', async (t) => {
  const archive = await makeArchive(t);
  const url = 'http://site.test/packed?a=b';
  const packed = gzipSync(contentOf('packed'));
  await archive.store(page(url, TIME, packed, ['Content-Encoding: gzip', 'Server: theirs', 'Set-Cookie: a=b']));
  const { server, failures } = await makeServer(t, { archive });
  const raw = `/web/20240301100000id_/${url}`;
  const reply = await ask(server.uiAddress, raw);
  assert.deepEqual([reply.status, reply.headers['memento-datetime']], [200, 'Fri, 01 Mar 2024 10:00:00 GMT']);
  assert.deepEqual(reply.body, packed);
  assert.equal(reply.headers['x-archive-orig-server'], 'theirs');
  assert.equal(reply.headers['set-cookie'], undefined);
  assert.match(String(reply.headers['content-security-policy']), /^default-src 'none';.* sandbox$/);
  const elsewhere = await ask(server.replayAddress, raw);
  assert.deepEqual([elsewhere.status, elsewhere.body], [200, packed]);

  const encoded = await ask(server.uiAddress, `/web/20240301100000id_/${encodeURIComponent(url)}`);
  assert.deepEqual(encoded.body, packed);
  const near = await ask(server.uiAddress, `/web/20240401000000id_/${url}`);
  assert.deepEqual([near.status, near.headers['memento-datetime']], [200, reply.headers['memento-datetime']]);
  const part = await ask(server.uiAddress, raw, { headers: { range: 'bytes=0-9' } });
  assert.deepEqual([part.status, part.body], [206, packed.subarray(0, 10)]);
  const head = await ask(server.uiAddress, raw, { method: 'HEAD' });
  assert.deepEqual([head.status, head.body.length], [200, 0]);
  const short = await ask(server.uiAddress, `/web/2024id_/${url}`);
  assert.deepEqual([short.status, short.headers.location], [302, server.uiUrl + raw]);
  assert.equal((await ask(server.uiAddress, '/web/20240301100000id_/http://site.test/missing')).status, 404);

  const fromBrowser = [
    { 'sec-fetch-dest': 'script', 'sec-fetch-mode': 'no-cors' },
    { 'sec-fetch-mode': 'cors' },
    { 'upgrade-insecure-requests': '1' },
    { referer: `${server.uiUrl}/` },
    { 'service-worker': 'script' },
  ] as Record<string, string>[];
  for (const headers of fromBrowser) {
    const redirected = await ask(server.uiAddress, raw, { headers: { host: new URL(server.uiUrl).host, ...headers } });
    assert.deepEqual(
      [redirected.status, redirected.headers.location],
      [307, server.replayUrl + raw],
      JSON.stringify(headers),
    );
  }
  assert.deepEqual(failures, []);
});

test('cdx_toolkit fetches records by replay and by range', {
  skip: isToolkitAbsent && 'cdx_toolkit is not installed; set CDX_TOOLKIT_PYTHON to a Python that has it',
}, async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('a page');
  await archive.store(page('http://site.test/a%20b?c=d', TIME, body));
  const moved = utf8('HTTP/1.1 301 Moved Permanently\r\nLocation: https://site.test/old\r\n\r\n');
  await archive.store({
    kind: 'http',
    url: 'http://site.test/old',
    time: TIME,
    responseHead: moved,
    body: utf8('gone on'),
  });
  const { server } = await makeServer(t, { archive });
  const program = `
import sys, json, cdx_toolkit
from cdx_toolkit import myrequests
myrequests.retry_info['default']['minimum_interval'] = 0
base = sys.argv[1]
for parts in ({'wb': base + '/web'}, {'warc_download_prefix': base + '/warc'}):
    fetcher = cdx_toolkit.CDXFetcher(source=base + '/cdx', **parts)
    for capture in fetcher.iter('site.test/*', fl='urlkey,timestamp,original,mimetype,statuscode,digest,length,offset,filename'):
        record = capture.fetch_warc_record()
        print(json.dumps([record.rec_headers.get_header('WARC-Target-URI'), record.http_headers.get_statuscode(), record.http_headers.get_header('Location'), record.content_stream().read().decode()]))
`;
  const { stdout } = await promisify(execFile)(PYTHON, ['-c', program, server.uiAddress]);
  const fetched = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string[]);
  const expected = [
    ['http://site.test/a%20b?c=d', '200', null, body.toString()],
    ['http://site.test/old', '301', 'https://site.test/old', 'gone on'],
  ];
  assert.deepEqual(fetched, [...expected, ...expected]);
});
