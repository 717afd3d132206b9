/**
 * Settings of a fetcher: the identity it sends, the connections it accepts, and the bounds that a hostile server cannot
 * exceed.
 */
import type { LookupFunction } from 'node:net';
import type { Clock } from '../base/index.ts';

export type FetchSettings = {
  readonly clock: Clock;
  /** Names the crawler, with a way to contact its operator. */
  readonly userAgent: string;
  /** Whether loopback and private addresses may be connected to. */
  readonly allowPrivate: boolean;
  /** Networks that may be connected to although they are not public, as `10.20.0.0/16`. */
  readonly privateNetworks: readonly string[];
  /** Whether certificates that cannot be verified are accepted. */
  readonly anyCertificate: boolean;
  /** Whether HTTP/2 is offered on TLS connections. */
  readonly http2: boolean;
  readonly connectTimeoutMs: number;
  /** Time from the request to the end of the head of the response. */
  readonly headTimeoutMs: number;
  /** Time in which no byte arrives. */
  readonly idleTimeoutMs: number;
  /** Time for the whole exchange. */
  readonly exchangeTimeoutMs: number;
  /** A body that arrives more slowly than this, measured after `slowAfterMs`, is cut. */
  readonly bytesPerSecondMin: number;
  readonly slowAfterMs: number;
  readonly headBytesMax: number;
  readonly bodyBytesMax: number;
  /** Resolves host names; the resolver of the system by default. */
  readonly resolve?: LookupFunction | undefined;
};

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

export const FETCH_DEFAULTS: Omit<FetchSettings, 'clock'> = {
  userAgent: 'Mozilla/5.0 (compatible; pinakes; web archive crawler)',
  allowPrivate: false,
  privateNetworks: [],
  anyCertificate: false,
  http2: true,
  connectTimeoutMs: 20 * SECOND_MS,
  headTimeoutMs: 60 * SECOND_MS,
  idleTimeoutMs: 30 * SECOND_MS,
  exchangeTimeoutMs: 30 * MINUTE_MS,
  bytesPerSecondMin: 50,
  slowAfterMs: MINUTE_MS,
  headBytesMax: 256 * 1024,
  bodyBytesMax: 1024 ** 3,
};

/** No language is asked for, so servers send their default language. */
export const ACCEPT_FIELDS: readonly (readonly [string, string])[] = [
  ['Accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
  ['Accept-Encoding', 'gzip, br, zstd'],
];
