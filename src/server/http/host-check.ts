/**
 * Checks that the Host field of a request names this server. A web site can point its own name to the address of this
 * server (DNS rebinding); browsers then send requests here under that name. So only known names are served. IP
 * addresses are always allowed, because they cannot be rebound.
 */
import type { IncomingMessage } from 'node:http';
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

  /** The name in a Host field, without the port; undefined when it is not a name of this server. */
  nameIn(field: string | undefined): string | undefined {
    if (field === undefined) return undefined;
    const match = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.exec(field);
    if (!match) return undefined;
    const name = match[1]!.toLowerCase().replace(/\.$/, '');
    const isOwn = isIP(name.replace(/^\[|\]$/g, '')) > 0 || this.#names.has(name) || name.endsWith('.localhost');
    return isOwn ? name : undefined;
  }
}

const HOST_FIELD = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::(\d*))?$/i;
const PORT_MAX = 65_535;

/** Whether a request has at most one Host field, with a valid name or address and port (RFC 9112, section 3.2). */
export function hasValidHost({ rawHeaders, headers }: IncomingMessage): boolean {
  const count = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length;
  if (count > 1) return false;
  const match = HOST_FIELD.exec(headers.host ?? '');
  return match !== null && Number(match[1] ?? 0) <= PORT_MAX;
}

/** Whether only this machine reaches an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
