/**
 * The origins at which browsers reach the two sockets: the origins that the operator set, or the addresses that the
 * server listens on.
 *
 * A server that listens on all addresses does not know which of them a client can reach. It then uses the host name of
 * each request, which the host check has accepted: an address, or a name of the machine. The ports are always the
 * server's own ports, so the two origins always differ.
 */
import { isIPv6 } from 'node:net';
import type { ReplayOrigins } from '../../replay/index.ts';
import type { ServerOptions } from '../server-options.ts';
import type { HostCheck } from './host-check.ts';

type Given = Pick<ServerOptions, 'host' | 'uiOrigin' | 'replayOrigin'> & {
  /**
   * Whether archived pages on this machine have a host name of their own, since people have cookies: those of a host
   * are sent to all of its ports.
   */
  readonly hasOwnReplayHost?: boolean;
};
/** Another host than `localhost` for browsers, at which the same sockets listen. */
const LOOPBACK = '127.0.0.1';

type Ports = { readonly ui: number; readonly replay: number };

export class Origins {
  /** The origins with the server's own host name, independent of a request. */
  readonly own: ReplayOrigins;
  readonly #given: Given;
  readonly #ports: Ports;
  readonly #ownName: string;

  constructor(given: Given, ports: Ports) {
    this.#given = given;
    this.#ports = ports;
    this.#ownName = ownName(given.host);
    this.own = this.under(this.#ownName);
  }

  /** The origins for the value of a Host field. */
  for(host: string | undefined, hosts: HostCheck): ReplayOrigins {
    return this.under(this.nameFor(host, hosts));
  }

  /** The host name under which the client reaches the server. */
  nameFor(host: string | undefined, hosts: HostCheck): string {
    const name = isEverywhere(this.#given.host) ? hosts.nameIn(host) : undefined;
    // A Content-Security-Policy cannot name an IPv6 address, so pages at an IPv6 address could not be shown in a frame.
    return name === undefined || name.startsWith('[') ? this.#ownName : name;
  }

  under(name: string): ReplayOrigins {
    const { uiOrigin, replayOrigin, hasOwnReplayHost } = this.#given;
    const replayName = hasOwnReplayHost && name === 'localhost' ? LOOPBACK : name;
    return {
      uiOrigin: new URL(uiOrigin ?? addressOf(name, this.#ports.ui)).origin,
      replayOrigin: new URL(replayOrigin ?? addressOf(replayName, this.#ports.replay)).origin,
    };
  }
}

export function addressOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Whether a server listens on all addresses of its machine. */
export function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function ownName(host: string): string {
  return isEverywhere(host) || host.startsWith('127.') || host === '::1' ? 'localhost' : host;
}
