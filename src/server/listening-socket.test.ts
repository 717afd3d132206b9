import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ListeningSocket } from './listening-socket.ts';

const SILENCE_MS = 100;

test('who waits for an answer is not let go, however long it takes; who falls silent in a request is', async (t) => {
  const socket = await ListeningSocket.listen({ host: '127.0.0.1', port: 0 }, { silenceMs: SILENCE_MS });
  t.after(() => socket.stop(AbortSignal.abort()));
  socket.answer(async (request, response) => {
    await wait(5 * SILENCE_MS);
    response.write('one');
    await wait(5 * SILENCE_MS);
    if (request.method === 'GET') response.end(' two');
  });
  const reply = await fetch(`http://127.0.0.1:${socket.port}/`);
  assert.equal(await reply.text(), 'one two');
  const half = connect(socket.port, '127.0.0.1');
  half.resume();
  half.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf');
  await once(half, 'close');
});
