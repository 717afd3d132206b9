/**
 * Limits the connections of a port: in all, and of one client address, so that a single client cannot use all of them.
 * IPv6 clients are counted by their /64 network, because a client can choose any address in it. Proxies count only in
 * all, because a proxy has the connections of many clients.
 */
import { BlockList, isIP, type Socket } from 'node:net';

/** Enough for the many browsers of a reading room behind one address. */
const PER_ADDRESS_MAX = 512;
const IN_ALL_MAX = 4096;
const NETWORK_GROUPS = 4;

export class ConnectionLimit {
  readonly #proxies: BlockList;
  readonly #perAddressMax: number;
  readonly #inAllMax: number;
  readonly #counts = new Map<string, number>();
  #inAll = 0;

  constructor(proxies: readonly string[] = [], perAddressMax = PER_ADDRESS_MAX, inAllMax = IN_ALL_MAX) {
    this.#proxies = proxyList(proxies);
    this.#perAddressMax = perAddressMax;
    this.#inAllMax = inAllMax;
  }

  /** Counts a connection until it closes. Returns false when its address or the port is at the limit. */
  admit(socket: Socket): boolean {
    if (this.#inAll >= this.#inAllMax || !this.#admitAddress(socket)) return false;
    this.#inAll++;
    socket.once('close', () => this.#inAll--);
    return true;
  }

  #admitAddress(socket: Socket): boolean {
    const address = plainAddress(socket.remoteAddress);
    // A connection that has already closed has no address, and neither has one over a Unix socket.
    if (address === undefined) return true;
    if (this.#proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) return true;
    const client = networkOf(address);
    const count = this.#counts.get(client) ?? 0;
    if (count >= this.#perAddressMax) return false;
    this.#counts.set(client, count + 1);
    socket.once('close', () => this.#release(client));
    return true;
  }

  #release(client: string): void {
    const count = this.#counts.get(client)! - 1;
    if (count === 0) this.#counts.delete(client);
    else this.#counts.set(client, count);
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

export function proxyList(proxies: readonly string[]): BlockList {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [, address = proxy, bits] = /^([^/]*)\/(\d{1,3})$/.exec(proxy) ?? [];
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Removes the zone of an IPv6 address, and the prefix of an IPv4 address on a socket for both families. */
export function plainAddress(remote: string | undefined): string | undefined {
  return remote?.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/, '');
}

/** An IPv4 address, or the /64 network of an IPv6 address. */
export function networkOf(address: string): string {
  if (isIP(address) === 4) return address;
  const [head = '', tail] = address.split('::', 2).map((part) => (part === '' ? [] : part.split(':')));
  const groups = [...head, ...(tail ? Array(8 - head.length - tail.length).fill('0') : []), ...(tail ?? [])];
  return groups.slice(0, NETWORK_GROUPS).join(':');
}
