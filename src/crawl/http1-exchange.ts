/**
 * One exchange over an HTTP/1.1 connection: writes the request, reads the head, and hands the body out as it comes, framing and all.
 *
 * The connection is free for the next exchange once the body has been read to an end that its framing gives.
 */
import { type Field, type HttpHead, httpHeadLength, parseHttpHead } from '../warc/index.ts';
import { BodyFraming } from './body-framing.ts';
import { type Exchange, FetchError, type Truncation } from './exchange.ts';
import type { FetchSettings } from './fetch-settings.ts';
import { Patience } from './patience.ts';
import type { Wire } from './wire.ts';

export type Http1Options = {
  readonly settings: FetchSettings;
  readonly signal?: AbortSignal | undefined;
  readonly facts: readonly Field[];
  /** Called once, when nothing more will be read: with the connection's fitness for another exchange. */
  readonly onRelease: (isReusable: boolean) => void;
};

const INTERIM_MAX = 20;

export async function http1Exchange(
  wire: Wire,
  url: string,
  request: Uint8Array,
  options: Http1Options,
): Promise<Exchange> {
  const { settings } = options;
  const time = settings.clock();
  wire.socket.write(request);
  try {
    const head = await readHead(wire, time, options);
    return new Http1Response(wire, url, time, request, head, options);
  } catch (error) {
    options.onRelease(false);
    throw error;
  }
}

/** Whether a failure can be blamed on a connection that the server had closed while it lay idle. */
export function isStale(error: unknown): boolean {
  if (error instanceof FetchError) return error.reason === 'no-response';
  return String((error as { code?: unknown } | null)?.code).startsWith('ERR_HTTP2');
}

async function readHead(wire: Wire, startMs: number, { settings, signal }: Http1Options): Promise<HttpHead> {
  let held: Buffer = Buffer.alloc(0);
  for (let interim = 0; interim < INTERIM_MAX; ) {
    const length = held.length === 0 ? -1 : httpHeadLength(held, 'response', false);
    if (length === 0) throw new FetchError('not-http', 'what came back is no HTTP response');
    if (length > settings.headBytesMax || (length < 0 && held.length > settings.headBytesMax))
      throw new FetchError('head-too-large', `the head is longer than ${settings.headBytesMax} bytes`);
    if (length > 0) {
      const head = parseHttpHead(held.subarray(0, length));
      held = held.subarray(length);
      const status = head.status;
      if (status === undefined) throw new FetchError('not-http', `the status line is ${head.startLine.slice(0, 80)}`);
      if (status >= 200 || status === 101) {
        wire.unread(held);
        return head;
      }
      interim++;
      continue;
    }
    // What has come by now is taken, however late it is looked at.
    const leftMs = Math.max(1, startMs + settings.headTimeoutMs - settings.clock());
    const piece = await wire.read(Math.min(leftMs, settings.idleTimeoutMs), signal);
    if (piece) held = held.length === 0 ? piece : Buffer.concat([held, piece]);
    else if (held.length === 0)
      throw new FetchError('no-response', wire.failure?.message ?? 'the server closed the connection without a word');
    else
      throw new FetchError('connection', wire.failure?.message ?? 'the server closed the connection within the head');
  }
  throw new FetchError('not-http', 'interim responses without an end');
}

class Http1Response implements Exchange {
  readonly kind = 'exchange';
  readonly url: string;
  readonly time: number;
  readonly latencyMs: number;
  readonly request: Uint8Array;
  readonly head: HttpHead;
  readonly status: number;
  readonly #wire: Wire;
  readonly #options: Http1Options;
  readonly #framing: BodyFraming;
  #truncated: Truncation | undefined;
  #isReleased = false;

  constructor(wire: Wire, url: string, time: number, request: Uint8Array, head: HttpHead, options: Http1Options) {
    this.#wire = wire;
    this.#options = options;
    this.url = url;
    this.time = time;
    this.latencyMs = options.settings.clock() - time;
    this.request = request;
    this.head = head;
    this.status = head.status!;
    this.#framing = new BodyFraming(head);
  }

  truncated(): Truncation | undefined {
    return this.#truncated;
  }

  fields(): Field[] {
    const fields = [...this.#options.facts];
    if (this.#truncated) fields.push({ name: 'WARC-Truncated', value: this.#truncated });
    return fields;
  }

  get body(): AsyncIterable<Uint8Array> {
    return this.#read();
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    const { settings, signal } = this.#options;
    const patience = new Patience(settings, this.time);
    let bytes = 0;
    try {
      while (!this.#framing.isComplete) {
        const waitMs = patience.waitMs(bytes, this.#wire.hasWaiting);
        const piece = waitMs === undefined ? 'late' : await this.#next(waitMs, signal);
        if (piece === 'late') return this.#cut('time');
        if (!piece) return this.#endOfConnection();
        const taken = this.#framing.take(piece);
        const allowed = Math.min(taken, settings.bodyBytesMax - bytes);
        bytes += allowed;
        if (allowed > 0) yield allowed === piece.length ? piece : piece.subarray(0, allowed);
        if (allowed < taken) return this.#cut('length');
        this.#wire.unread(piece.subarray(taken));
      }
      this.#release(this.#isReusable());
    } finally {
      this.#release(false);
    }
  }

  async #next(waitMs: number, signal: AbortSignal | undefined): Promise<Buffer | 'late' | undefined> {
    try {
      return await this.#wire.read(waitMs, signal);
    } catch (error) {
      if (error instanceof FetchError && error.reason === 'timeout') return 'late';
      throw error;
    }
  }

  #endOfConnection(): void {
    if (!this.#framing.endsWithConnection || this.#wire.failure) this.#truncated = 'disconnect';
    this.#release(false);
  }

  #cut(why: Truncation): void {
    this.#truncated = why;
    this.#release(false);
  }

  /** Bytes behind the body that nobody asked for make a connection useless: they would be taken for the next answer. */
  #isReusable(): boolean {
    const { fields, startLine } = this.head;
    const says = fields.find(({ name }) => name.toLowerCase() === 'connection')?.value.toLowerCase() ?? '';
    const persists = /^http\/1\.1\b/i.test(startLine) ? !says.includes('close') : says.includes('keep-alive');
    return persists && this.#wire.isUsable;
  }

  #release(isReusable: boolean): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#options.onRelease(isReusable);
  }

  abandon(): void {
    this.#release(false);
  }
}

/** The request message. */
export function requestMessage(target: URL, fields: readonly (readonly [string, string])[]): Uint8Array {
  const path = (target.pathname || '/') + target.search;
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${target.host}`, ...fields.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
