/**
 * Where browsers find the two sockets: what the operator named, or the address that the server listens at.
 *
 * A server that listens everywhere has many addresses, and which of them a client can reach only the client knows. It
 * then goes by the name that each request came under, which the check of that name has let through: an address, or a
 * name of the machine. The ports stay ours, so the two origins never become one.
 */
import { isIPv6 } from 'node:net';
import type { ReplayOrigins } from '../../replay/index.ts';
import type { ServerOptions } from '../server-options.ts';
import type { HostCheck } from './host-check.ts';

type Given = Pick<ServerOptions, 'host' | 'uiOrigin' | 'replayOrigin'>;
type Ports = { readonly ui: number; readonly replay: number };

export class Origins {
  /** For those who come under no name. */
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

  /** For the value of a Host field. */
  for(host: string | undefined, hosts: HostCheck): ReplayOrigins {
    return this.under(this.nameFor(host, hosts));
  }

  /** The name that the one who asks finds the server by. */
  nameFor(host: string | undefined, hosts: HostCheck): string {
    const name = isEverywhere(this.#given.host) ? hosts.nameIn(host) : undefined;
    // Policies of content cannot name an IPv6 address, so that none of them could be shown in a frame.
    return name === undefined || name.startsWith('[') ? this.#ownName : name;
  }

  under(name: string): ReplayOrigins {
    const { uiOrigin, replayOrigin } = this.#given;
    return {
      uiOrigin: new URL(uiOrigin ?? addressOf(name, this.#ports.ui)).origin,
      replayOrigin: new URL(replayOrigin ?? addressOf(name, this.#ports.replay)).origin,
    };
  }
}

export function addressOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Whether a server listens at all addresses of its machine. */
export function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function ownName(host: string): string {
  return isEverywhere(host) || host.startsWith('127.') || host === '::1' ? 'localhost' : host;
}
