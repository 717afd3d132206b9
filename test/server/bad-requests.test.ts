/**
 * Invalid, absurd and hostile requests get the right status and a sentence in JSON or HTML, as the client prefers. No
 * reply has a stack trace, and the server continues.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { contentOf, makeArchive, page } from '../archive/trial-archive.ts';
import { ask, makeServer, type Reply } from './trial-server.ts';

const TIME = Date.UTC(2024, 2, 1, 10);

function assertNoTrace(reply: Reply, what: string): void {
  assert.doesNotMatch(reply.text, /node_modules|\.ts:\d|^\s+at /m, what);
}

/** Sends any bytes, even bytes that are not HTTP, and returns the reply. */
function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (piece: string) => {
      text += piece;
    });
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(text));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (text === '') reject(error);
    });
  });
}

test('invalid requests', async (t) => {
  const archive = await makeArchive(t);
  for (const path of ['', 'a', 'a/b', 'c'])
    await archive.store(page(`http://site.test/${path}`, TIME, contentOf(path)));
  const { server, failures } = await makeServer(t, { archive });
  const { uiAddress, replayAddress } = server;

  await t.test('absurd times, unknown modifiers and broken URLs are refused with 400', async () => {
    const targets = [
      '/web/99999999999999/http://site.test/',
      '/web/20241301000000/http://site.test/',
      '/web/20240230000000/http://site.test/',
      '/web/111111111111111111111111111111/http://site.test/',
      '/web/20240301100000zz_/http://site.test/',
      '/web/20240301100000mp_/',
      '/web/20240301100000mp_/http://',
      '/web/',
      '/web/*/',
    ];
    for (const address of [uiAddress, replayAddress]) {
      for (const target of targets) {
        const reply = await ask(address, target);
        assert.equal(reply.status, 400, `${address}${target}`);
        assert.equal(JSON.parse(reply.text).error.code, 'BAD_REQUEST', target);
        assertNoTrace(reply, target);
      }
    }
  });

  await t.test('odd URLs are looked up like any other, and get a 404', async () => {
    const targets = [
      'http://[::bad/',
      'http://a b/',
      '%',
      '%zz',
      'http://site.test/%',
      'javascript:alert(1)',
      `x${'y'.repeat(20000)}`,
      '<script>',
      '..%2f..%2fetc',
      'http://site.test:99999/',
    ];
    for (const url of targets) {
      for (const accept of ['text/html', 'application/json']) {
        const reply = await ask(replayAddress, `/web/20240301100000mp_/${url.replaceAll(' ', '%20')}`, {
          headers: { accept },
        });
        assert.equal(reply.status, 404, url);
        assert.match(
          String(reply.headers['content-type']),
          accept === 'text/html' ? /^text\/html/ : /^application\/json/,
        );
        // The only script is from the server, and the policy allows it.
        if (accept === 'text/html') assert.equal(reply.text.match(/<script/g)?.length, 1);
        assert.equal(reply.headers['x-content-type-options'], 'nosniff');
        assertNoTrace(reply, url);
      }
    }
  });

  await t.test('a missing capture is a 404 with links to nearby captures, as a page or as JSON', async () => {
    for (const [address, target] of [
      [uiAddress, '/web/20240301100000/http://site.test/a/missing'],
      [uiAddress, '/web/http://site.test/a/missing'],
      [replayAddress, '/web/20240301100000mp_/http://site.test/a/missing'],
    ] as const) {
      const json = await ask(address, target, { headers: { accept: 'application/json' } });
      assert.equal(json.status, 404);
      const { error, alternatives } = JSON.parse(json.text);
      assert.equal(error.code, 'CAPTURE_MISSING');
      assert.ok(
        alternatives.some(({ url }: { url: string }) => url === 'http://site.test/a/b'),
        json.text,
      );
      const html = await ask(address, target, { headers: { accept: 'text/html,*/*' } });
      assert.equal(html.status, 404);
      assert.match(html.text, /<a href="[^"]+\/http:\/\/site\.test\/a\/b">/);
      assert.match(String(html.headers['content-security-policy']), /default-src 'none'/);
      assert.match(html.text, /<form action="[^"]+\/search".*>Start page<\/a>/s);
      const framed = await ask(address, target, { headers: { accept: 'text/html,*/*', 'sec-fetch-dest': 'iframe' } });
      assert.equal(framed.status, 404);
      assert.doesNotMatch(framed.text, /<form/, 'a page in a frame has no links out of it');
    }
    const image = await ask(replayAddress, '/web/20240301100000im_/http://site.test/none.png');
    assert.deepEqual([image.status, image.headers['content-type']], [404, 'image/svg+xml']);
  });

  await t.test('dots in paths do not lead to files', async () => {
    const targets = [
      '/../../etc/passwd',
      '/..%2f..%2fetc/passwd',
      '/assets/../../package.json',
      '/static/../web',
      '/warc/../archive.yaml',
      '/warc/..%2farchive.yaml',
      '/%2e%2e/%2e%2e/etc/passwd',
      '//etc/passwd',
    ];
    for (const address of [uiAddress, replayAddress]) {
      for (const target of targets) {
        const reply = await ask(address, target);
        assert.equal(reply.status, 404, `${address}${target}`);
        assertNoTrace(reply, target);
      }
    }
  });

  await t.test('a URL of 100 KB or 1 MB is refused with 414 on both sockets', async () => {
    for (const address of [uiAddress, replayAddress]) {
      for (const characters of [70_000, 100_000, 1_000_000]) {
        const answer = await sendRaw(
          Number(new URL(address).port),
          `GET /web/${'x'.repeat(characters)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
        );
        assert.match(answer, /^HTTP\/1\.1 414 /, `${characters}`);
      }
    }
  });

  await t.test('too many fields are refused with 431, and bytes that are not HTTP with 400', async () => {
    const port = Number(new URL(uiAddress).port);
    const fields = Array.from({ length: 4000 }, (_, i) => `X-Field-${i}: ${'v'.repeat(40)}`).join('\r\n');
    assert.match(await sendRaw(port, `GET / HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n\r\n`), /^HTTP\/1\.1 431 /);
    assert.match(await sendRaw(port, '\x16\x03\x01\x02\x00\x01\x00'), /^HTTP\/1\.1 400 /);
    assert.match(await sendRaw(port, 'GET / HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 400 /);
  });

  await t.test('an invalid Host field, or a second one, is refused with 400 on both sockets', async () => {
    for (const address of [uiAddress, replayAddress]) {
      const port = Number(new URL(address).port);
      const fields = [
        'Host: localhost\r\nHost: localhost',
        'Host: localhost\r\nX-Other: 1\r\nhOST: evil.test',
        'Host: localhost:99999',
        'Host: localhost:65536',
        'Host: localhost:8o',
        'Host: user@localhost',
        'Host: local host',
        'Host: localhost/path',
        'Host: [::1',
      ];
      for (const field of fields) {
        const answer = await sendRaw(port, `GET /healthz HTTP/1.1\r\n${field}\r\nConnection: close\r\n\r\n`);
        assert.match(answer, /^HTTP\/1\.1 400 /, field);
      }
      const sound = `GET /healthz HTTP/1.1\r\nHost: localhost:65535\r\nConnection: close\r\n\r\n`;
      assert.match(await sendRaw(port, sound), /^HTTP\/1\.1 (?:200|404) /);
    }
  });

  await t.test('a foreign host name is refused, and the server is not a proxy', async () => {
    for (const host of ['evil.test', 'localhost.evil.test', 'evil.test:80']) {
      const reply = await ask(uiAddress, '/healthz', { headers: { host } });
      assert.equal(reply.status, 421, host);
      assert.equal(JSON.parse(reply.text).error.code, 'HOST_REFUSED');
    }
    for (const host of ['localhost', '127.0.0.1:1', '[::1]:8080', 'LOCALHOST:5', 'a.localhost'])
      assert.equal((await ask(uiAddress, '/healthz', { headers: { host } })).status, 200, host);
    assert.equal((await ask(uiAddress, 'http://site.test/', { headers: { host: 'localhost' } })).status, 400);
  });

  await t.test('other methods are refused with 405 and the list of allowed methods', async () => {
    for (const [address, target, method] of [
      [uiAddress, '/web/http://site.test/', 'POST'],
      [uiAddress, '/web/20240301100000/http://site.test/', 'PUT'],
      [uiAddress, '/', 'DELETE'],
      [uiAddress, '/metrics', 'POST'],
      [uiAddress, '/cdx', 'PATCH'],
      [replayAddress, '/web/20240301100000mp_/http://site.test/', 'PROPFIND'],
      [replayAddress, '/static/wombat.js', 'POST'],
    ] as const) {
      const reply = await ask(address, target, { method });
      assert.equal(reply.status, 405, `${method} ${target}`);
      assert.match(String(reply.headers.allow), /GET/);
    }
  });

  await t.test('a form of an archived page is refused with 413 when its body is too large', async () => {
    const body = Buffer.alloc(1_100_000, 'x');
    const reply = await ask(replayAddress, '/web/20240301100000mp_/http://site.test/', { method: 'POST', body });
    assert.equal(reply.status, 413);
  });

  await t.test('the error is a page for a client that accepts HTML', async () => {
    const reply = await ask(uiAddress, '/nothing.txt', { headers: { accept: 'text/html' } });
    assert.equal(reply.status, 404);
    assert.match(reply.text, /^<!doctype html>/);
    assert.match(reply.text, /There is nothing at this address/);
  });
  assert.deepEqual(failures, []);
});
