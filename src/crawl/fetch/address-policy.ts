/**
 * Which addresses may be connected to. Archived pages can name any host, and a name can resolve to any address: of this
 * machine, of the router, or of the metadata service of a cloud. So the check looks at the address that a connection
 * leads to, and not at the name.
 *
 * Public addresses are always allowed. Other addresses are refused, with two exceptions: the connector of the archive
 * can name allowed networks, and a crawl on the command line can allow all addresses.
 */
import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Ranges that are not the public internet (IANA special-purpose registries). */
const PRIVATE_RANGES: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 4, 'ipv4'],
  ['240.0.0.0', 4, 'ipv4'],
  ['::', 127, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
  ['100::', 64, 'ipv6'],
  ['100:0:0:1::', 64, 'ipv6'],
  // Teredo: a tunnel that can end anywhere.
  ['2001::', 32, 'ipv6'],
  ['2001:2::', 48, 'ipv6'],
  ['2001:10::', 28, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['3fff::', 20, 'ipv6'],
  ['5f00::', 16, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
];

const blocked = new BlockList();
for (const [net, prefix, family] of PRIVATE_RANGES) blocked.addSubnet(net, prefix, family);

/**
 * Forms of IPv6 addresses that contain an IPv4 address: mapped, compatible, translated, NAT64, 6to4. The IPv4 address
 * is checked.
 */
const EMBEDDING: readonly { readonly prefix: readonly number[]; readonly at: number }[] = [
  { prefix: [0, 0, 0, 0, 0, 0xffff], at: 6 },
  { prefix: [0, 0, 0, 0, 0, 0], at: 6 },
  { prefix: [0, 0, 0, 0, 0xffff, 0], at: 6 },
  { prefix: [0x64, 0xff9b, 0, 0, 0, 0], at: 6 },
  { prefix: [0x2002], at: 1 },
];

/** Whether an address belongs to the public internet. False for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 0) return false;
  if (family === 4) return !blocked.check(bare, 'ipv4');
  if (blocked.check(bare, 'ipv6')) return false;
  const groups = ipv6Groups(bare);
  const embedding = EMBEDDING.find(({ prefix }) => prefix.every((group, index) => groups[index] === group));
  if (!embedding) return true;
  const [high, low] = [groups[embedding.at]!, groups[embedding.at + 1]!];
  return !blocked.check([high >> 8, high & 255, low >> 8, low & 255].join('.'), 'ipv4');
}

/** The eight groups of an IPv6 address. The parser of the platform expands the address. */
function ipv6Groups(address: string): number[] {
  const text = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [left = '', right] = text.split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right === undefined || right === '' ? [] : right.split(':');
  const middle = Array.from({ length: right === undefined ? 0 : 8 - head.length - tail.length }, () => '0');
  return [...head, ...middle, ...tail].map((group) => Number.parseInt(group, 16));
}

export class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';

  constructor(host: string, address: string) {
    super(`${host} resolves to ${address || 'no address'}, which is not on the public internet`);
  }
}

export type AddressSettings = {
  /** Whether every address may be connected to. */
  readonly allowPrivate: boolean;
  /** Networks that may be connected to although they are not public, as `10.20.0.0/16`. */
  readonly privateNetworks: readonly string[];
};

export class AddressPolicy {
  readonly #allowsAll: boolean;
  readonly #networks = new BlockList();

  constructor({ allowPrivate, privateNetworks }: AddressSettings) {
    this.#allowsAll = allowPrivate;
    for (const network of privateNetworks) {
      const [address = '', prefix] = network.split('/');
      this.#networks.addSubnet(address, Number(prefix), familyOf(address));
    }
  }

  /** Whether an address may be connected to. */
  allows(address: string): boolean {
    if (this.#allowsAll || isPublicAddress(address)) return true;
    const bare = address.replace(/%.*$/, '');
    return isIP(bare) !== 0 && this.#networks.check(bare, familyOf(bare));
  }

  /**
   * Returns a resolver that leaves out addresses which may not be connected to. It asks `resolve`, by default the
   * resolver of the system.
   */
  lookup(resolve: LookupFunction = systemLookup as LookupFunction): LookupFunction {
    return (host, options, done) => {
      resolve(host, { ...options, all: true }, (error, found) => {
        if (error) return done(error, [], 0);
        const all = typeof found === 'string' ? [{ address: found, family: isIP(found) }] : found;
        const allowed = all.filter(({ address }) => this.allows(address));
        if (allowed.length === 0) return done(new AddressRefused(host, all[0]?.address ?? ''), [], 0);
        if (options.all) return done(null, allowed);
        done(null, allowed[0]!.address, allowed[0]!.family);
      });
    };
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
