/**
 * The baseline for the server: plain node:http, which sends one recorded reply of our server from memory, with its
 * fields and bytes.
 */
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

const reply = await new Promise<IncomingMessage>((resolve, reject) =>
  get(process.argv[2]!, resolve).on('error', reject),
);
const pieces: Buffer[] = [];
for await (const piece of reply) pieces.push(piece as Buffer);
const body = Buffer.concat(pieces);
const fields = reply.rawHeaders.filter((_, at) => {
  return !/^(date|connection|keep-alive|transfer-encoding|content-length)$/i.test(reply.rawHeaders[at - (at % 2)]!);
});
fields.push('Content-Length', String(body.length));

const server = createServer((_request, response) => {
  response.writeHead(reply.statusCode!, fields);
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ ui: `http://127.0.0.1:${port}` })}\n`);
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
