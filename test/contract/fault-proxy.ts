/**
 * An HTTP proxy in front of a real server that does to one request what networks and servers do. It is a real server
 * on a port of its own, and the requests and answers are those of the real ones.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { buffer } from 'node:stream/consumers';

export type Fault =
  /** The connection ends after this share of the request's bytes has reached the server. */
  | { readonly kind: 'request cut'; readonly at: number }
  /** The connection ends after this share of the answer's bytes. */
  | { readonly kind: 'answer cut'; readonly at: number }
  /** The server does the work, and no byte of its answer arrives. */
  | { readonly kind: 'answer lost' }
  /** The server never sees the request. */
  | { readonly kind: 'refused'; readonly status: number; readonly code: string }
  /** The answer is another one, and the server never sees the request. */
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  /** The connection ends, and the request reaches the server when `release` is called. */
  | { readonly kind: 'held' }
  /** The server gets the request two times, and the second answer arrives. */
  | { readonly kind: 'twice' }
  /** A bit of the body changes on its way to the server. */
  | { readonly kind: 'damaged' }
  /** The connection stays open and nothing happens. */
  | { readonly kind: 'silent' }
  /** The answer is silent after this share of its bytes. */
  | { readonly kind: 'answer stops'; readonly at: number };

export type SeenRequest = { readonly method: string; readonly path: string; readonly range: string | undefined };

export class FaultProxy {
  readonly #server: Server;
  #target: URL;
  readonly #held: Buffer[] = [];
  #seen: SeenRequest[] = [];
  #faultOf: (request: SeenRequest, count: number) => Fault | undefined = () => undefined;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => request.socket.destroy());
    });
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forwards to another server from now on. */
  retarget(target: string): void {
    this.#target = new URL(target);
  }

  /** The requests since faults were set. */
  get seen(): readonly SeenRequest[] {
    return this.#seen;
  }

  /** Begins to count requests, from 1, and asks for each one which fault it meets. */
  setFaults(faultOf: (request: SeenRequest, count: number) => Fault | undefined): void {
    this.#seen = [];
    this.#faultOf = faultOf;
  }

  /** The fault of the request of this number; the others pass. */
  setFault(count: number, fault: Fault): void {
    this.setFaults((_, number) => (number === count ? fault : undefined));
  }

  clear(): void {
    this.setFaults(() => undefined);
  }

  /** Sends the requests that were held to the server. */
  async release(): Promise<number> {
    const held = this.#held.splice(0);
    for (const request of held) await this.#ask(request);
    return held.length;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', socket } = request;
    const body = await buffer(request);
    const seen = { method, path: url, range: request.headers.range };
    this.#seen.push(seen);
    const fault = this.#faultOf(seen, this.#seen.length);
    const bytes = rawRequest(request, body);
    switch (fault?.kind) {
      case 'request cut':
        await this.#ask(bytes.subarray(0, Math.floor(bytes.length * fault.at)), true);
        socket.destroy();
        return;
      case 'answer lost':
        await this.#ask(bytes);
        socket.destroy();
        return;
      case 'held':
        this.#held.push(bytes);
        socket.destroy();
        return;
      case 'silent':
        return;
      case 'refused':
        response.writeHead(fault.status, { 'content-type': 'application/xml' });
        response.end(
          method === 'HEAD'
            ? ''
            : `<?xml version="1.0"?><Error><Code>${fault.code}</Code><Message>a fault</Message></Error>`,
        );
        return;
      case 'answered':
        response.writeHead(fault.status, { 'content-type': 'application/xml' });
        response.end(fault.body);
        return;
      case 'twice':
        await this.#ask(bytes);
        break;
      case 'damaged':
        if (body.length > 0) bytes[bytes.length - 1]! ^= 1;
        break;
    }
    const answer = await this.#ask(bytes);
    if (fault?.kind === 'answer cut' || fault?.kind === 'answer stops') {
      socket.write(answer.subarray(0, Math.floor(answer.length * fault.at)), () => {
        if (fault.kind === 'answer cut') socket.destroy();
      });
      return;
    }
    socket.end(answer);
  }

  /** Sends bytes to the server and returns its answer. */
  async #ask(bytes: Buffer, isCut = false): Promise<Buffer> {
    const socket = connect(Number(this.#target.port), this.#target.hostname);
    await once(socket, 'connect');
    if (isCut) {
      await new Promise((resolve) => socket.write(bytes, resolve));
      socket.end();
    } else socket.write(bytes);
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.once('close', resolve));
    return Buffer.concat(pieces);
  }
}

/** The request as bytes, for a connection that is closed after the answer. */
function rawRequest({ method, url, rawHeaders }: IncomingMessage, body: Buffer): Buffer {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (!/^(?:connection|expect)$/i.test(rawHeaders[at]!)) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`), body]);
}
