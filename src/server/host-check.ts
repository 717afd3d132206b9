/**
 * Whether a request was really meant for this server. A web site that gives its own name our address (DNS rebinding) makes browsers send it here
 * under that name; so names are answered only when they are ours. Addresses are always ours: nobody can rebind a number.
 */
import { isIP } from 'node:net';
import { hostname } from 'node:os';

export class HostCheck {
  readonly #names: ReadonlySet<string>;

  constructor(options: { readonly host: string; readonly origins: readonly string[] }) {
    const names = ['localhost', ...options.origins.map((origin) => new URL(origin).hostname)];
    if (!isLoopback(options.host)) names.push(hostname());
    if (isIP(options.host) === 0) names.push(options.host);
    this.#names = new Set(names.map((name) => name.toLowerCase()));
  }

  /** The name of ours that is the value of a Host field, without its port; undefined when it is none. */
  nameIn(field: string | undefined): string | undefined {
    if (field === undefined) return undefined;
    const match = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.exec(field);
    if (!match) return undefined;
    const name = match[1]!.toLowerCase().replace(/\.$/, '');
    const isOurs = isIP(name.replace(/^\[|\]$/g, '')) > 0 || this.#names.has(name) || name.endsWith('.localhost');
    return isOurs ? name : undefined;
  }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** The name or address in a URL, in the one form that all its spellings have. */
export function nameOf(url: string): string | undefined {
  return URL.parse(url)
    ?.hostname.replace(/\.$/, '')
    .replace(/^\[|\]$/g, '');
}
