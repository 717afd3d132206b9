/** Fetches from the web: HTTP/1.1 and HTTP/2, over connections that are kept. One request leads to one exchange; redirects are not followed. */
import { type Connection, Connections, failureOf } from './connections.ts';
import { type Exchange, FetchError, type Fetcher, type FetchFailure, type FetchRequest } from './exchange.ts';
import { ACCEPT_FIELDS, type FetchSettings } from './fetch-settings.ts';
import { http1Exchange, isStale, requestMessage } from './http1-exchange.ts';
import { http2Exchange } from './http2-exchange.ts';

export class HttpFetcher implements Fetcher {
  readonly #settings: FetchSettings;
  readonly #connections: Connections;
  readonly #fields: readonly (readonly [string, string])[];

  constructor(settings: FetchSettings) {
    this.#settings = settings;
    this.#connections = new Connections(settings);
    this.#fields = [['User-Agent', settings.userAgent.replace(/[^\x20-\x7e]/g, '')], ...ACCEPT_FIELDS];
  }

  async fetch(request: FetchRequest, options: { signal?: AbortSignal } = {}): Promise<Exchange | FetchFailure> {
    const { url } = request;
    const time = this.#settings.clock();
    const target = URL.parse(url);
    const { signal } = options;
    try {
      if (!target || !/^https?:$/.test(target.protocol))
        throw new FetchError('bad-url', 'only http and https are fetched');
      signal?.throwIfAborted();
      // What was sent twice may have been done twice; so what carries something never goes out on a connection that may be stale.
      const idle = request.body ? undefined : this.#connections.reuse(target.origin);
      if (idle) {
        try {
          return await this.#exchange(idle, target, request, signal);
        } catch (error) {
          // A server may close a connection that lies idle at the very moment it is used again; that says nothing about the page.
          if (!isStale(error)) throw error;
        }
      }
      return await this.#exchange(await this.#connections.open(target, signal), target, request, signal);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const failure = failureOf(error);
      if (failure instanceof FetchError)
        return { kind: 'failure', url, time, reason: failure.reason, detail: failure.message };
      throw error;
    }
  }

  #exchange(connection: Connection, target: URL, request: FetchRequest, signal?: AbortSignal): Promise<Exchange> {
    const further = (request.fields ?? []).map(({ name, value }) => [name, value] as const);
    const given = new Set(further.map(([name]) => name.toLowerCase()));
    const own = given.size === 0 ? this.#fields : this.#fields.filter(([name]) => !given.has(name.toLowerCase()));
    const { facts } = connection;
    const settings = this.#settings;
    if (connection.kind === 'http2')
      return http2Exchange(connection.session, request, target, [...own, ...further], { settings, signal, facts });
    const fields = [...own, ...further, ['Connection', 'keep-alive'] as const];
    const onRelease = (isReusable: boolean) => this.#connections.release(target.origin, connection, isReusable);
    return http1Exchange(connection.wire, request.url, requestMessage(target, fields, request), {
      settings,
      signal,
      facts,
      onRelease,
    });
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}
