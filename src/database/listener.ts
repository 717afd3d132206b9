/**
 * A connection that waits for messages of other processes. It connects again when it is lost, and then reports a
 * message without a text, since some may have been missed.
 */
import type { Client, ClientConfig } from 'pg';

const AGAIN_MS = 1000;

export class Listener {
  readonly #settings: ClientConfig;
  readonly #channel: string;
  readonly #onMessage: (message: string | undefined) => void;
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(settings: ClientConfig, channel: string, onMessage: (message: string | undefined) => void) {
    this.#settings = settings;
    this.#channel = channel;
    this.#onMessage = onMessage;
    void this.#connect();
  }

  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    void this.#client?.end().catch(() => {});
  }

  async #connect(): Promise<void> {
    const { default: pg } = await import('pg');
    if (this.#isEnded) return;
    const client = new pg.Client({ ...this.#settings, keepAlive: true });
    this.#client = client;
    const again = () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      if (!this.#isEnded) this.#timer = setTimeout(() => void this.#connect(), AGAIN_MS).unref();
    };
    client.on('error', again);
    client.on('end', again);
    client.on('notification', ({ payload }) => this.#onMessage(payload));
    try {
      await client.connect();
      await client.query(`listen ${client.escapeIdentifier(this.#channel)}`);
      if (this.#isEnded) await client.end();
      else this.#onMessage(undefined);
    } catch {
      await client.end().catch(() => {});
      again();
    }
  }
}
