import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ListeningSocket } from './listening-socket.ts';

const SILENCE_MS = 500;

test('a client is disconnected when it is silent inside a request, but not when it waits for a reply', async (t) => {
  const socket = await ListeningSocket.listen({ host: '127.0.0.1', port: 0 }, { timeouts: { silenceMs: SILENCE_MS } });
  t.after(() => socket.stop(AbortSignal.abort()));
  socket.handleWith(async (request, response) => {
    await wait(2 * SILENCE_MS);
    response.write('one');
    await wait(2 * SILENCE_MS);
    if (request.method === 'GET') response.end(' two');
  });
  const reply = await fetch(`http://127.0.0.1:${socket.port}/`);
  assert.equal(await reply.text(), 'one two');
  const half = connect(socket.port, '127.0.0.1');
  half.resume();
  half.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf');
  await once(half, 'close');
});

test('the time limit of a head does not run while earlier requests of the connection are served', async (t) => {
  const socket = await ListeningSocket.listen({ host: '127.0.0.1', port: 0 }, { timeouts: { headMs: 100 } });
  t.after(() => socket.stop(AbortSignal.abort()));
  const asked = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  socket.handleWith(async (request, response) => {
    asked.resolve();
    if (request.url === '/first') await mayAnswer.promise;
    response.end(request.url);
  });
  const client = connect(socket.port, '127.0.0.1');
  client.write('GET /first HTTP/1.1\r\nHost: localhost\r\n\r\nGET /second HTTP/1.1\r\nHo');
  await asked.promise;
  // A client whose first head is cut at the same place is refused after the time limit.
  const slow = connect(socket.port, '127.0.0.1');
  slow.write('GET /second HTTP/1.1\r\nHo');
  assert.match(String((await once(slow, 'data'))[0]), /^HTTP\/1\.1 408 /);
  slow.destroy();
  mayAnswer.resolve();
  client.write('st: localhost\r\nConnection: close\r\n\r\n');
  let received = '';
  for await (const piece of client) received += String(piece);
  assert.match(received, /^HTTP\/1\.1 200 .*\/first.*HTTP\/1\.1 200 .*\/second$/s);
});
