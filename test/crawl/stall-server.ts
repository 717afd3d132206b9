/**
 * An HTTP/1.1 and an HTTP/2 server in a separate thread, which run while the thread of the test is blocked. Each
 * answers with BODY_BYTES bytes, in three parts with short pauses. Posts the ports.
 */
import { createSecureServer } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { TEST_CERTIFICATE, TEST_KEY } from './test-certificate.ts';

export const BODY_BYTES = 48_000;
const PART_MS = 20;

async function sendBody(write: (part: Uint8Array) => void, end: () => void): Promise<void> {
  for (let part = 0; part < 3; part++) {
    if (part > 0) await pause(PART_MS);
    write(Buffer.alloc(BODY_BYTES / 3, 97 + part));
  }
  end();
}

async function start(): Promise<void> {
  const plain = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`);
      void sendBody(
        (part) => socket.write(part),
        () => {},
      );
    });
  });
  const secure = createSecureServer({ cert: TEST_CERTIFICATE, key: TEST_KEY });
  secure.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'text/plain' });
    void sendBody(
      (part) => stream.write(part),
      () => stream.end(),
    );
  });
  const listen = (server: Server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  await listen(plain);
  await listen(secure);
  const ports = [plain, secure].map((server) => (server.address() as AddressInfo).port);
  parentPort!.postMessage({ http1: ports[0], http2: ports[1] });
}

if (parentPort) await start();
