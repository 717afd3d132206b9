/**
 * Limits the requests of one client. A client is a token or a person once the guard has known it, and otherwise an
 * address, or the /64 network of an IPv6 address. Clients on this machine are not limited.
 *
 * Each client has a bucket that holds as many requests as the limit allows in its window, and that fills evenly. So a
 * page with many images is served at once, and a client that goes on asking gets the average. Wrong tokens have no
 * buckets of their own: they count for the address.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LruCache } from '../../base/index.ts';
import type { Actor } from '../tokens/access.ts';
import type { ClientAddress } from './client-address.ts';
import { networkOf } from './connection-limit.ts';
import { isLoopback } from './host-check.ts';
import type { ProblemDetails } from './problem.ts';

/** So many requests in a window, and at one time. */
export type Rate = { readonly requests: number; readonly windowMs: number };

type Bucket = { requests: number; atMs: number };

const WINDOWS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };
/** Clients that are remembered. A client that is forgotten begins with a full bucket. */
const CLIENTS_MAX = 50_000;
const KNOWN_MAX = 10_000;

/** `50/s`, `600/m`, `10000/h`; undefined for other texts. */
export function parseRate(text: string): Rate | undefined {
  const [, requests, unit] = /^([1-9]\d{0,8})\/([smh])$/.exec(text) ?? [];
  return unit === undefined ? undefined : { requests: Number(requests), windowMs: WINDOWS_MS[unit]! };
}

export class RateLimit {
  readonly #rate: Rate;
  readonly #stopwatch: () => number;
  readonly #addresses: ClientAddress;
  readonly #buckets = new LruCache<string, Bucket>(CLIENTS_MAX, () => 1);
  /** The names of senders, by the hash of what proves them. */
  readonly #known = new LruCache<string, string>(KNOWN_MAX, () => 1);

  constructor(rate: Rate, stopwatch: () => number, addresses: ClientAddress) {
    this.#rate = rate;
    this.#stopwatch = stopwatch;
    this.#addresses = addresses;
  }

  /** Called when the guard knows who sent a request. Later requests with the same proof count for this sender. */
  know(request: IncomingMessage, { kind, name, id = name }: Actor): void {
    const proof = proofOf(request);
    if (proof !== undefined) this.#known.keep(hashOf(proof), `${kind} ${id}`);
  }

  /** Counts a request. Returns the refusal of one that is too many. */
  refusalOf(request: IncomingMessage): ProblemDetails | undefined {
    const client = this.#clientOf(request);
    if (client === undefined) return undefined;
    const { requests, windowMs } = this.#rate;
    const now = this.#stopwatch();
    let bucket = this.#buckets.get(client);
    if (!bucket) {
      bucket = { requests, atMs: now };
      this.#buckets.keep(client, bucket);
    }
    bucket.requests = Math.min(requests, bucket.requests + ((now - bucket.atMs) * requests) / windowMs);
    bucket.atMs = now;
    if (bucket.requests >= 1) {
      bucket.requests--;
      return undefined;
    }
    const seconds = Math.ceil(((1 - bucket.requests) * windowMs) / requests / 1000);
    return {
      status: 429,
      code: 'TOO_MANY_REQUESTS',
      message: 'too many requests from this client',
      advice: `Wait ${seconds} s, then go on more slowly. The operator sets the limit with --rate-limit.`,
      fields: { 'retry-after': String(seconds) },
    };
  }

  /** Undefined for a client that is not limited. */
  #clientOf(request: IncomingMessage): string | undefined {
    const proof = proofOf(request);
    const name = proof === undefined ? undefined : this.#known.get(hashOf(proof));
    if (name !== undefined) return name;
    const address = this.#addresses.of(request);
    return address === undefined || isLoopback(address) ? undefined : `address ${networkOf(address)}`;
  }
}

/** What a request proves its sender with: a token, or the cookie of a sign-in. */
function proofOf({ headers }: IncomingMessage): string | undefined {
  return headers.authorization ?? headers.cookie;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
