/** A TCP proxy in front of PostgreSQL that loses answers: the server does the work, and its client hears nothing. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** How many of the next answers are lost. */
  #losses = 0;

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      const end = () => {
        for (const socket of [client, server]) {
          socket.destroy();
          this.#sockets.delete(socket);
        }
      };
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on('error', end);
        socket.on('close', end);
      }
      client.on('data', (bytes) => server.write(bytes));
      server.on('data', (bytes) => {
        if (this.#losses > 0) {
          this.#losses--;
          end();
        } else client.write(bytes);
      });
    });
  }

  static async start(port: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  loseAnswers(count: number): void {
    this.#losses = count;
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }
}
