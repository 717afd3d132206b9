/**
 * The address of a client, for the audit log. A proxy that the operator has named, or that connects over a Unix socket,
 * tells it as the last address of X-Forwarded-For. Other clients could write anything there.
 */
import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP } from 'node:net';
import { plainAddress, proxyList } from './connection-limit.ts';

export class ClientAddress {
  readonly #proxies: BlockList;

  constructor(proxies: readonly string[] = []) {
    this.#proxies = proxyList(proxies);
  }

  of(request: IncomingMessage): string | undefined {
    const remote = plainAddress(request.socket.remoteAddress);
    const isProxy = remote === undefined || this.#proxies.check(remote, isIP(remote) === 6 ? 'ipv6' : 'ipv4');
    if (!isProxy) return remote;
    const forwarded = String(request.headers['x-forwarded-for'] ?? '')
      .split(',')
      .at(-1)!
      .trim();
    return isIP(forwarded) > 0 ? forwarded : remote;
  }
}
