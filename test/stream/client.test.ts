import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { FRAME_BYTES_MAX, formatFrame } from '../../src/base/index.ts';
import { ArchiveStream, StreamBrokenError, type StreamPart } from '../../src/client/index.ts';

/** A server that sends the given replies one after another. */
async function answering(
  t: TestContext,
  replies: readonly ((response: ServerResponse) => void)[],
  fields: readonly Readonly<Record<string, string>>[] = [],
) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    response.writeHead(200, { 'x-pinakes-cursor': 'begin', ...fields[asked.length] });
    replies[asked.push(request.url!) - 1]!(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const whole = (response: ServerResponse) => {
  for (const [kind, text] of ['D one', 'C 1', 'D two', 'C 2', 'X yes'].map((frame) => frame.split(' ')))
    response.write(formatFrame(kind!, text!));
  response.end();
};

async function partsOf(stream: ArchiveStream): Promise<StreamPart[]> {
  const parts: StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

test('the client sends every parameter of a stream', async (t) => {
  const { origin, asked } = await answering(t, [whole]);
  await partsOf(new ArchiveStream(origin, { order: 'url', status: '4xx', key: 'main:sha256:00', resolve: true }));
  assert.equal(asked[0], '/api/stream?order=url&status=4xx&key=main%3Asha256%3A00&resolve=true&frames=true');
});

test('a continued stream reports whether records may have been deleted since its cursor', async (t) => {
  const lacking = (response: ServerResponse) => response.write(formatFrame('X', 'yes'));
  const { origin } = await answering(
    t,
    [(response) => response.end(formatFrame('C', '1')), lacking],
    [{}, { 'x-pinakes-deleted': 'possible' }],
  );
  const stream = new ArchiveStream(origin);
  assert.equal(stream.mayLack, false);
  await partsOf(stream);
  assert.equal(stream.mayLack, true);
});

test('a client with an aborted signal sends no request', async (t) => {
  const { origin, asked } = await answering(t, [whole]);
  const reason = new Error('no longer wanted');
  await assert.rejects(partsOf(new ArchiveStream(origin, {}, { signal: AbortSignal.abort(reason) })), reason);
  assert.deepEqual(asked, []);
});

test('a stream that is aborted while the caller handles a part ends with the cursor after this part', async (t) => {
  const { origin } = await answering(t, [whole]);
  const leaving = new AbortController();
  const reason = new Error('no longer wanted');
  const stream = new ArchiveStream(origin, {}, { signal: leaving.signal });
  const cursors: (string | undefined)[] = [];
  const taking = async () => {
    for await (const { cursor } of stream) {
      cursors.push(cursor);
      leaving.abort(reason);
    }
  };
  await assert.rejects(taking(), reason);
  assert.deepEqual([cursors, stream.cursor], [['1'], '1']);
});

test('a stream that broke inside a large record can be repeated, and counts the incomplete bytes again', async (t) => {
  const mebibyte = Buffer.alloc(FRAME_BYTES_MAX);
  const brokenAfter = (frames: number) => (response: ServerResponse) => {
    for (let count = 0; count < frames; count++) response.write(formatFrame('D', mebibyte));
    setImmediate(() => response.end());
  };
  const { origin, asked } = await answering(t, [brokenAfter(8), brokenAfter(16), whole]);
  const stream = new ArchiveStream(origin);
  for (const mebibytes of [8, 16])
    await assert.rejects(partsOf(stream), (error) => {
      assert.ok(error instanceof StreamBrokenError);
      assert.deepEqual([error.cursor, error.bytesBehind], ['begin', mebibytes * FRAME_BYTES_MAX]);
      return true;
    });
  assert.deepEqual(
    (await partsOf(stream)).map(({ bytes, cursor }) => [Buffer.from(bytes).toString(), cursor]),
    [
      ['one', '1'],
      ['two', '2'],
    ],
  );
  assert.match(asked[2]!, /cursor=begin/);
});
