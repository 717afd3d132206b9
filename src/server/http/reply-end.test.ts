import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { endReply } from './reply-end.ts';

async function serving(answer: RequestListener, ask: (address: string) => Promise<void>): Promise<void> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('replies are sent when the turn ends, each with its own body', async () => {
  const held: (() => void)[] = [];
  const early: boolean[] = [];
  await serving(
    (request, response) => {
      held.push(() => {
        response.writeHead(200, { 'content-length': 2 });
        endReply(response, Buffer.from(request.url!.slice(-2)));
        early.push(response.writableEnded);
      });
      if (held.length === 3) for (const answer of held) answer();
    },
    async (address) => {
      const texts = ['/aa', '/bb', '/cc'].map(async (path) => (await fetch(new URL(path, address))).text());
      assert.deepEqual(await Promise.all(texts), ['aa', 'bb', 'cc']);
      assert.deepEqual(early, [false, false, false]);
    },
  );
});

test('a HEAD request gets no body', async () => {
  await serving(
    (_, response) => {
      response.writeHead(200, { 'content-length': 4 });
      endReply(response, Buffer.from('body'));
    },
    async (address) => {
      const reply = await fetch(address, { method: 'HEAD' });
      assert.equal(reply.headers.get('content-length'), '4');
      assert.equal(await reply.text(), '');
    },
  );
});

test('a client that disconnects before the end of the turn does not disturb other replies', async () => {
  await serving(
    (_, response) => {
      response.writeHead(200, { 'content-length': 4 });
      endReply(response, Buffer.from('body'));
      if (response.req.url === '/left') response.destroy();
    },
    async (address) => {
      await assert.rejects(fetch(new URL('/left', address)));
      assert.equal(await (await fetch(address)).text(), 'body');
    },
  );
});
