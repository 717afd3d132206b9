/**
 * Bounds how many connections one client address may hold, so that a single client cannot take all that the server has.
 * An IPv6 client counts by its /64 network, within which it can choose its address. A proxy brings the connections of
 * many clients and is not bounded.
 */
import { BlockList, isIP, type Socket } from 'node:net';

/** Far more than a browser opens; a reading room behind one address has many browsers. */
const PER_ADDRESS_MAX = 512;
const NETWORK_GROUPS = 4;

export class ConnectionBound {
  readonly #proxies: BlockList;
  readonly #perAddressMax: number;
  readonly #held = new Map<string, number>();

  constructor(proxies: readonly string[] = [], perAddressMax = PER_ADDRESS_MAX) {
    this.#proxies = proxyList(proxies);
    this.#perAddressMax = perAddressMax;
  }

  /** Counts a connection until it closes; false when its address holds as many as it may. */
  admit(socket: Socket): boolean {
    const address = plainAddress(socket.remoteAddress);
    // A connection that is gone already has no address.
    if (address === undefined) return true;
    if (this.#proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) return true;
    const client = networkOf(address);
    const held = this.#held.get(client) ?? 0;
    if (held >= this.#perAddressMax) return false;
    this.#held.set(client, held + 1);
    socket.once('close', () => this.#release(client));
    return true;
  }

  #release(client: string): void {
    const held = this.#held.get(client)! - 1;
    if (held === 0) this.#held.delete(client);
    else this.#held.set(client, held);
  }
}

/** Whether a text is an address or a network, `192.0.2.7` or `172.18.0.0/16`. */
export function isAddressOrNetwork(text: string): boolean {
  try {
    proxyList([text]);
    return true;
  } catch {
    return false;
  }
}

function proxyList(proxies: readonly string[]): BlockList {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [, address = proxy, bits] = /^([^/]*)\/(\d{1,3})$/.exec(proxy) ?? [];
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Without the zone of an IPv6 address, and an IPv4 address as such also where the socket takes both. */
function plainAddress(remote: string | undefined): string | undefined {
  return remote?.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/, '');
}

function networkOf(address: string): string {
  if (isIP(address) === 4) return address;
  const [head = '', tail] = address.split('::', 2).map((part) => (part === '' ? [] : part.split(':')));
  const groups = [...head, ...(tail ? Array(8 - head.length - tail.length).fill('0') : []), ...(tail ?? [])];
  return groups.slice(0, NETWORK_GROUPS).join(':');
}
