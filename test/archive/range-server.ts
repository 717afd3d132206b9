/** A web server with files in memory, which knows ranges unless it is told otherwise, and which can behave badly. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export type RangeServer = {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  readonly files: Map<string, Buffer>;
  /** The ranges that were asked for, with the path before each. */
  readonly asked: string[];
  knowsRanges: boolean;
  /** What names the version of a file. */
  validator: 'etag' | 'date' | 'none';
  /** Comes before each ETag, as when the file moved to another server. */
  etagPrefix: string;
  /** Cuts this many connections, each after some bytes. */
  cuts: number;
  /** Answers this many requests with 503. */
  busy: number;
  isSilent: boolean;
  /** Where requests for a path are sent. */
  readonly redirects: Map<string, string>;
  stop(): Promise<void>;
};

const CUT_BYTES = 300;

export async function startRangeServer(t: TestContext): Promise<RangeServer> {
  const server = createServer((request, response) => answer(made, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((done) => server.close(done));
  };
  const made: RangeServer = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    files: new Map(),
    asked: [],
    knowsRanges: true,
    validator: 'etag',
    etagPrefix: '',
    cuts: 0,
    busy: 0,
    isSilent: false,
    redirects: new Map(),
    stop,
  };
  t.after(stop);
  return made;
}

function answer(server: RangeServer, request: IncomingMessage, response: ServerResponse): void {
  const path = new URL(request.url!, server.origin).pathname;
  server.asked.push(`${path} ${request.headers.range}`);
  if (server.isSilent) return;
  const location = server.redirects.get(path);
  if (location !== undefined) {
    response.writeHead(302, { location }).end();
    return;
  }
  if (server.busy > 0) {
    server.busy--;
    response.writeHead(503).end();
    return;
  }
  const file = server.files.get(path);
  if (!file) {
    response.writeHead(404).end();
    return;
  }
  const print = createHash('sha256').update(file).digest('hex');
  const seconds = Number.parseInt(print.slice(0, 7), 16);
  if (server.validator === 'etag') response.setHeader('etag', `"${server.etagPrefix}${print.slice(0, 16)}"`);
  if (server.validator === 'date') response.setHeader('last-modified', new Date(seconds * 1000).toUTCString());
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
  if (!server.knowsRanges || !range) {
    response.writeHead(200, { 'content-length': file.length }).end(file);
    return;
  }
  const from = Number(range[1]);
  const body = file.subarray(from, Number(range[2]) + 1);
  if (from >= file.length) {
    response.writeHead(416, { 'content-range': `bytes */${file.length}` }).end();
    return;
  }
  response.writeHead(206, {
    'content-range': `bytes ${from}-${from + body.length - 1}/${file.length}`,
    'content-length': body.length,
  });
  if (server.cuts > 0 && body.length > CUT_BYTES) {
    server.cuts--;
    response.write(body.subarray(0, CUT_BYTES), () => setImmediate(() => response.destroy()));
    return;
  }
  response.end(body);
}
