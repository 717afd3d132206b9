/** How to fetch: who asks, what is accepted, and the bounds that keep a hostile server from holding the crawler. */
import type { LookupFunction } from 'node:net';
import type { Clock } from '../base/index.ts';

export type FetchSettings = {
  readonly clock: Clock;
  /** Who asks, with a way to reach them. */
  readonly userAgent: string;
  /** Whether loopback and private addresses may be connected to. */
  readonly allowPrivate: boolean;
  /** Networks beyond the public internet that may be connected to all the same, as `10.20.0.0/16`. */
  readonly privateNetworks: readonly string[];
  /** Whether certificates that cannot be verified are taken. */
  readonly anyCertificate: boolean;
  /** Whether HTTP/2 is offered where there is TLS. */
  readonly http2: boolean;
  readonly connectTimeoutMs: number;
  /** For the head of the response, from the request on. */
  readonly headTimeoutMs: number;
  /** Without a byte. */
  readonly idleTimeoutMs: number;
  /** For the whole exchange. */
  readonly exchangeTimeoutMs: number;
  /** A body that comes more slowly than this over `slowAfterMs` is cut. */
  readonly bytesPerSecondMin: number;
  readonly slowAfterMs: number;
  readonly headBytesMax: number;
  readonly bodyBytesMax: number;
  /** Looks names up; the system's by default. */
  readonly resolve?: LookupFunction | undefined;
};

const SECOND = 1000;
const MINUTE = 60 * SECOND;

export const FETCH_DEFAULTS: Omit<FetchSettings, 'clock'> = {
  userAgent: 'Mozilla/5.0 (compatible; pinakes; web archive crawler)',
  allowPrivate: false,
  privateNetworks: [],
  anyCertificate: false,
  http2: true,
  connectTimeoutMs: 20 * SECOND,
  headTimeoutMs: 60 * SECOND,
  idleTimeoutMs: 30 * SECOND,
  exchangeTimeoutMs: 30 * MINUTE,
  bytesPerSecondMin: 50,
  slowAfterMs: MINUTE,
  headBytesMax: 256 * 1024,
  bodyBytesMax: 1024 ** 3,
};

/** What asks the servers for: no language, so that they give what they give to everybody. */
export const ACCEPT_FIELDS: readonly (readonly [string, string])[] = [
  ['Accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
  ['Accept-Encoding', 'gzip, br, zstd'],
];
