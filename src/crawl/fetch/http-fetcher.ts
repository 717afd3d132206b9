/**
 * Fetches over HTTP/1.1 and HTTP/2, and keeps connections for further requests. Redirects are not followed: a fetch is
 * one exchange.
 */

import { ACCEPT_FIELDS, type FetchSettings } from '../fetch-settings.ts';
import { steadyClock } from '../steady-clock.ts';
import { type Connection, Connections, fetchErrorOf } from './connections.ts';
import {
  type Exchange,
  FetchError,
  type Fetcher,
  type FetchFailure,
  type FetchOptions,
  type FetchRequest,
  Http1Required,
  NotSent,
  RequestUnprocessed,
} from './exchange.ts';
import { fieldLines, http1Exchange, isStale, requestMessage } from './http1-exchange.ts';
import { http2Exchange } from './http2-exchange.ts';
import { type RequestTarget, requestTarget } from './target.ts';

/**
 * Some servers send this status on an idle connection before they close it, as the answer to no request (RFC 9110,
 * 15.5.9). Over HTTP/2 every answer belongs to a request.
 */
const REQUEST_TIMEOUT = 408;
/** How often a request that the server does not process is sent, each time on another connection. */
const UNPROCESSED_TRIES = 4;
const KEEP_ALIVE = ['Connection', 'keep-alive'] as const;

export class HttpFetcher implements Fetcher {
  readonly #settings: FetchSettings;
  readonly #connections: Connections;
  readonly #fields: readonly (readonly [string, string])[];

  constructor(settings: FetchSettings) {
    this.#settings = settings;
    this.#connections = new Connections(settings);
    this.#fields = [['User-Agent', settings.userAgent.replace(/[^\x20-\x7e]/g, '')], ...ACCEPT_FIELDS];
  }

  async fetch(request: FetchRequest, options: FetchOptions = {}): Promise<Exchange | FetchFailure> {
    const { url } = request;
    const time = this.#settings.clock();
    const { signal, mayBeSent } = options;
    let isUnconnected = false;
    try {
      const target = requestTarget(url);
      signal?.throwIfAborted();
      // A request with a body may have an effect, so it must not be sent twice. It never uses a connection that may be
      // stale.
      const idle = request.body ? undefined : this.#connections.reuse(target.origin);
      if (idle) {
        this.#check(mayBeSent, target, idle);
        try {
          const exchange = await this.#exchange(idle, target, request, signal);
          if (exchange.status !== REQUEST_TIMEOUT || idle.kind === 'http2') return exchange;
          exchange.abandon();
        } catch (error) {
          // The server may have closed the idle connection just now. So try again on a new connection.
          if (!isStale(error)) throw error;
        }
      }
      for (let tries = 1; ; tries++) {
        try {
          isUnconnected = true;
          const connection = await this.#connections.open(new URL(url), signal);
          isUnconnected = false;
          this.#check(mayBeSent, target, connection);
          return await this.#exchange(connection, target, request, signal);
        } catch (error) {
          if (!(error instanceof RequestUnprocessed) || tries >= UNPROCESSED_TRIES) throw error;
        }
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const failure = fetchErrorOf(error);
      if (failure instanceof FetchError)
        return { kind: 'failure', url, time, reason: failure.reason, detail: failure.message, isUnconnected };
      throw error;
    }
  }

  #check(mayBeSent: FetchOptions['mayBeSent'], { origin }: RequestTarget, connection: Connection): void {
    if (!mayBeSent || mayBeSent()) return;
    if (connection.kind === 'http1') this.#connections.release(origin, connection, true);
    throw new NotSent(origin);
  }

  #exchange(
    connection: Connection,
    target: RequestTarget,
    request: FetchRequest,
    signal?: AbortSignal,
  ): Promise<Exchange> {
    const { fields: connectionFields } = connection;
    const settings = this.#settings;
    // A longer step than the idle timeout is a jump of the clock, since no wait is longer.
    const clock = steadyClock(settings.clock, settings.idleTimeoutMs);
    const options = { settings, clock, signal, connectionFields };
    if (connection.kind === 'http2')
      return http2Exchange(connection.session, request, target, this.#fieldsOf(request), options).catch((error) => {
        if (error instanceof Http1Required) this.#connections.avoidHttp2(target.origin);
        throw error;
      });
    const lines = fieldLines([...this.#fieldsOf(request), KEEP_ALIVE]);
    const onRelease = (isReusable: boolean) => this.#connections.release(target.origin, connection, isReusable);
    return http1Exchange(connection.reader, request.url, requestMessage(target, lines, request), {
      ...options,
      onRelease,
    });
  }

  #fieldsOf(request: FetchRequest): (readonly [string, string])[] {
    const further = (request.fields ?? []).map(({ name, value }) => [name, value] as const);
    const given = new Set(further.map(([name]) => name.toLowerCase()));
    return [...this.#fields.filter(([name]) => !given.has(name.toLowerCase())), ...further];
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}
