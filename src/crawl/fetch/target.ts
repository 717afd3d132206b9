/** The target of a request, from its URL. */
import { FetchError } from './exchange.ts';

export type RequestTarget = {
  readonly origin: string;
  readonly host: string;
  /** The path with the query, as it is requested. */
  readonly path: string;
};

/**
 * A path and query that the parser would not change: no dot segments, no escapes in the path, no characters that it
 * encodes.
 */
const PLAIN_PATH = /^(?:\/(?!\.)[A-Za-z0-9_~!$&()*+,;=:@.-]*)+(?:\?[A-Za-z0-9_~!$&()*+,;=:@/?.%-]+)?$/;
const REMEMBERED_MAX = 1000;

/** Splits URLs. The parser is used for the first URL of an origin, and for URLs that are not plain. */
export class RequestTargets {
  /** Hosts by origins as written in URLs. */
  readonly #hosts = new Map<string, string>();

  of(url: string): RequestTarget {
    const pathAt = url.indexOf('/', 8);
    const start = pathAt < 0 ? url : url.slice(0, pathAt);
    const host = this.#hosts.get(start);
    const path = pathAt < 0 ? '' : url.slice(pathAt);
    if (host !== undefined && PLAIN_PATH.test(path)) return { origin: start, host, path };
    const parsed = URL.parse(url);
    if (!parsed || !/^https?:$/.test(parsed.protocol))
      throw new FetchError('bad-url', 'only http and https are fetched');
    if (parsed.origin === start) {
      if (this.#hosts.size >= REMEMBERED_MAX) this.#hosts.clear();
      this.#hosts.set(start, parsed.host);
    }
    return { origin: parsed.origin, host: parsed.host, path: requestPath(parsed) };
  }
}

/** As the URL is written: a question mark with nothing behind it is kept. */
function requestPath({ href, protocol }: URL): string {
  const hash = href.indexOf('#');
  return href.slice(href.indexOf('/', protocol.length + 2), hash < 0 ? href.length : hash);
}
