import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { ListeningSocket } from './listening-socket.ts';

const BODY_BYTES = 4 * 1024 * 1024;

test('a large body arrives in large pieces, and the requests after it are served', async (t) => {
  const listening = await ListeningSocket.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => listening.stop(AbortSignal.abort()));
  const sizes: number[] = [];
  let answered = 0;
  listening.handleWith((request, response) => {
    request.on('data', (piece: Buffer) => sizes.push(piece.length));
    request.once('end', () => response.end(`${++answered}`));
  });
  const client = connect(listening.port, '127.0.0.1');
  t.after(() => client.destroy());
  const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const post = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`;
  const last = get.replace('Host', 'Connection: close\r\nHost');
  client.write(`${get}${post}${'b'.repeat(BODY_BYTES)}${get.repeat(2000)}${last}`);
  client.resume();
  await once(client, 'close');
  assert.equal(answered, 2003);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    BODY_BYTES,
  );
  assert.ok(Math.max(...sizes) > 8 * 1024, `${Math.max(...sizes)} bytes at once`);
});
