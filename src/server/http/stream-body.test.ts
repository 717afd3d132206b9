import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { StreamChunk, Subscriber } from '../../archive/index.ts';
import { utf8 } from '../../base/index.ts';
import { sendStreamBody } from './stream-body.ts';

const HEARTBEAT_MS = 15_000;

for (const format of ['jsonl', 'warc'] as const)
  test(`a stream as ${format} sends valid heartbeats while it finds no record`, {
    timeout: 30_000,
  }, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const found = Promise.withResolvers<StreamChunk | undefined>();
    const chunks = [found.promise, undefined];
    const stream = { cursor: () => 'begin', mayLack: false, next: async () => chunks.shift() };
    const server = createServer((_request, response) => {
      void sendStreamBody(response, stream as unknown as Subscriber, {
        ...{ format, isFramed: false, bytesMax: Number.POSITIVE_INFINITY, filename: 'stream' },
        stopping: new AbortController().signal,
      });
      // Nothing is found before the second heartbeat.
      t.mock.timers.tick(2 * HEARTBEAT_MS);
    }).listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    // Without a heartbeat the head would wait for the first record.
    const reply = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    assert.equal(reply.headers.get('x-pinakes-cursor'), 'begin');
    found.resolve({ pieces: [utf8('{"type":"response"}\n')], bytes: 20, cursor: undefined });
    const lines = (await reply.text()).trimEnd().split('\n');
    const cursor = '{"type":"cursor","cursor":"begin","end":false}';
    const record = '{"type":"response"}';
    assert.deepEqual(lines, format === 'warc' ? [record] : [cursor, cursor, record, cursor.replace('false', 'true')]);
  });
