/** The target of a request, from its URL. */
import { FetchError } from './exchange.ts';

export type RequestTarget = {
  readonly origin: string;
  readonly host: string;
  /** The path and the query, as they are requested. */
  readonly path: string;
};

export function requestTarget(url: string): RequestTarget {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new FetchError('bad-url', 'only http and https are fetched');
  const { origin, host, href, protocol } = parsed;
  // Take the path from `href`, which keeps a question mark with nothing behind it.
  const hash = href.indexOf('#');
  return { origin, host, path: href.slice(href.indexOf('/', protocol.length + 2), hash < 0 ? href.length : hash) };
}
