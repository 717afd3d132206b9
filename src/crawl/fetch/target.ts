/** The target of a request, from its URL. */
import { FetchError } from './exchange.ts';

export type RequestTarget = {
  readonly origin: string;
  readonly host: string;
  /** The path with the query, as it is requested. */
  readonly path: string;
};

export function requestTarget(url: string): RequestTarget {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new FetchError('bad-url', 'only http and https are fetched');
  const { origin, host, href, protocol } = parsed;
  // From the URL as it is written: a question mark with nothing behind it is kept.
  const hash = href.indexOf('#');
  return { origin, host, path: href.slice(href.indexOf('/', protocol.length + 2), hash < 0 ? href.length : hash) };
}
