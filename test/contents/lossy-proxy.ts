/**
 * A proxy in front of a server that counts bytes on the wire, and loses what it is told to lose: the answer to a
 * request that the server has carried out, or the rest of a request that is on its way.
 */
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What happens to the n-th request: it passes, its answer is lost, or its connection breaks while it arrives. */
export type Loss = 'none' | 'answer' | 'request';

export class LossyProxy {
  readonly #server: Server;
  readonly #target: () => string;
  readonly #losses: (number: number) => Loss;
  readonly #sockets = new Set<Socket>();
  requests = 0;
  lost = 0;

  constructor(target: () => string, losses: (number: number) => Loss = () => 'none') {
    this.#target = target;
    this.#losses = losses;
    this.#server = createServer((incoming, response) => {
      const loss = this.#losses(this.requests++);
      if (loss !== 'none') this.lost++;
      const { hostname, port } = new URL(this.#target());
      const { method, url: path, headers } = incoming;
      const outgoing = request({ hostname, port, method, path, headers });
      outgoing.on('error', () => incoming.socket.destroy());
      outgoing.on('response', async (answer: IncomingMessage) => {
        if (loss === 'answer') {
          for await (const _ of answer);
          incoming.socket.destroy();
          return;
        }
        response.writeHead(answer.statusCode!, answer.headers);
        answer.on('error', () => incoming.socket.destroy());
        answer.pipe(response);
      });
      if (loss !== 'request') {
        incoming.pipe(outgoing);
        return;
      }
      incoming.once('data', (piece: Buffer) => {
        outgoing.write(piece.subarray(0, piece.length / 2), () => {
          outgoing.destroy();
          incoming.socket.destroy();
        });
      });
      incoming.once('end', () => {
        outgoing.destroy();
        incoming.socket.destroy();
      });
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#closedBytes += socket.bytesRead + socket.bytesWritten;
        this.#sockets.delete(socket);
      });
    });
  }

  #closedBytes = 0;

  /** All bytes between clients and the proxy so far, in both directions, with heads. */
  get bytes(): number {
    return [...this.#sockets].reduce((sum, one) => sum + one.bytesRead + one.bytesWritten, this.#closedBytes);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
