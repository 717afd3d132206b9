/**
 * A proxy in front of PostgreSQL that loses the answer to one statement, or goes silent, as networks do. Bytes are
 * passed on as they are. A statement is recognized in the simple form of a query, which those without values have.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class PostgresProxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #lostStatement: string | undefined;
  #isSilent = false;
  /** How many answers were lost. */
  lost = 0;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((client) => this.#join(client));
  }

  static async start(target: string): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** The next such statement reaches the server, and the connection ends when its answer comes. */
  loseAnswerTo(statement: string): void {
    this.#lostStatement = statement;
  }

  /** From now on nothing is passed on in either direction, and connections stay open. */
  goSilent(): void {
    this.#isSilent = true;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    let losesAnswer = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (this.#isSilent) return;
      const statement = this.#lostStatement;
      // 'Q', the length in 4 bytes, the text, 0.
      if (statement !== undefined && bytes[0] === 0x51 && bytes.toString('latin1', 5, bytes.length - 1) === statement) {
        this.#lostStatement = undefined;
        losesAnswer = true;
      }
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (this.#isSilent) return;
      if (!losesAnswer) {
        client.write(bytes);
        return;
      }
      this.lost++;
      client.destroy();
    });
  }
}
