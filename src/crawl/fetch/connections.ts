/**
 * Connections to servers. They are opened when needed and kept for further requests. Before a byte is sent, the address
 * that a connection leads to is checked.
 */
import { constants } from 'node:crypto';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { EpochMs } from '../../base/index.ts';
import type { Field } from '../../warc/index.ts';
import type { FetchSettings } from '../fetch-settings.ts';
import { AddressPolicy, AddressRefused } from './address-policy.ts';
import { Deadline } from './deadline.ts';
import { errorText, FetchError } from './exchange.ts';
import { SocketReader } from './socket-reader.ts';

/** No crawl has more requests to one host at a time. All of them may end at once, so this many connections are kept. */
const IDLE_PER_ORIGIN_MAX = 64;
const IDLE_MS_MAX = 15_000;
/**
 * The addresses of a host are tried one after the other. Each address except the last gets one part in ATTEMPTS of the
 * connect timeout. The default of the platform, a quarter of a second, is too short for distant servers.
 */
const ATTEMPTS = 8;

const VERIFIED = { rejectUnauthorized: true } as const;
/**
 * A connection without verification is not secure anyway, so weak encryption is allowed too. Old servers have TLS 1.0
 * with short keys, and no secure renegotiation.
 */
const UNVERIFIED = {
  rejectUnauthorized: false,
  minVersion: 'TLSv1',
  ciphers: 'DEFAULT:@SECLEVEL=0',
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
} as const;

export type Http1Connection = {
  readonly kind: 'http1';
  readonly reader: SocketReader;
  readonly fields: readonly Field[];
};
export type Http2Connection = {
  readonly kind: 'http2';
  readonly session: ClientHttp2Session;
  readonly fields: readonly Field[];
};
export type Connection = Http1Connection | Http2Connection;

type Idle = { readonly connection: Http1Connection; readonly since: EpochMs };

export class Connections {
  readonly #settings: FetchSettings;
  readonly #addresses: AddressPolicy;
  readonly #idle = new Map<string, Idle[]>();
  readonly #sessions = new Map<string, Http2Connection>();
  /**
   * Connections that are being opened to origins that may have HTTP/2. Several requests can wait for one of them and
   * share it.
   */
  readonly #opening = new Map<string, Promise<Connection>>();
  /** Origins that require HTTP/1.1. */
  readonly #http1Only = new Set<string>();
  readonly #open = new Set<Socket>();
  #expiry: NodeJS.Timeout | undefined;

  constructor(settings: FetchSettings) {
    this.#settings = settings;
    this.#addresses = new AddressPolicy(settings);
  }

  /** Returns an open connection that can take a request. */
  reuse(origin: string): Connection | undefined {
    const session = this.#sessions.get(origin);
    if (session && !session.session.closed && !session.session.destroyed) return session;
    const idle = this.#idle.get(origin);
    for (let next = idle?.pop(); next; next = idle?.pop()) {
      if (next.connection.reader.isUsable) return next.connection;
      next.connection.reader.destroy();
    }
    return undefined;
  }

  /** Uses HTTP/1.1 for an origin from now on. */
  avoidHttp2(origin: string): void {
    this.#http1Only.add(origin);
    this.#sessions.get(origin)?.session.close();
    this.#sessions.delete(origin);
  }

  /** Opens a new connection. */
  async open(target: URL, signal?: AbortSignal): Promise<Connection> {
    const origin = target.origin;
    if (!this.#offersHttp2(target)) return this.#connect(target, signal);
    const opening = this.#opening.get(origin);
    const shared = await opening?.catch(() => undefined);
    if (shared?.kind === 'http2' && !shared.session.closed) return shared;
    const connecting = this.#connect(target, signal);
    this.#opening.set(origin, connecting);
    try {
      return await connecting;
    } finally {
      if (this.#opening.get(origin) === connecting) this.#opening.delete(origin);
    }
  }

  /** Takes back a connection. It is kept if it is reusable, and closed otherwise. */
  release(origin: string, connection: Http1Connection, isReusable: boolean): void {
    const idle = this.#idle.get(origin) ?? [];
    if (!isReusable || idle.length >= IDLE_PER_ORIGIN_MAX) {
      connection.reader.destroy();
      return;
    }
    idle.push({ connection, since: this.#settings.clock() });
    this.#idle.set(origin, idle);
    this.#expiry ??= setInterval(() => this.#expire(), IDLE_MS_MAX / 4).unref();
  }

  /**
   * Closes connections that were idle for IDLE_MS_MAX. In each list, the one that has been idle for longest comes
   * first.
   */
  #expire(): void {
    const before = this.#settings.clock() - IDLE_MS_MAX;
    for (const [origin, idle] of this.#idle) {
      while (idle.length > 0 && idle[0]!.since <= before) idle.shift()!.connection.reader.destroy();
      if (idle.length === 0) this.#idle.delete(origin);
    }
    if (this.#idle.size > 0) return;
    clearInterval(this.#expiry);
    this.#expiry = undefined;
  }

  async #connect(target: URL, signal: AbortSignal | undefined): Promise<Connection> {
    const socket = await this.#socket(target, signal);
    const fields = addressFields(socket);
    if ((socket as Partial<TLSSocket>).alpnProtocol !== 'h2') {
      socket.setNoDelay(true);
      return {
        kind: 'http1',
        reader: new SocketReader(socket),
        fields: [...fields, ...protocolFields(socket, 'http/1.1')],
      };
    }
    const session = connectHttp2(target.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, maxHeaderListSize: this.#settings.headBytesMax },
      // The length of a head is bounded, so the number of its fields need not be.
      maxHeaderListPairs: this.#settings.headBytesMax,
    });
    const connection: Http2Connection = {
      kind: 'http2',
      session,
      fields: [...fields, ...protocolFields(socket, 'h2')],
    };
    const { origin } = target;
    session.setTimeout(IDLE_MS_MAX, () => session.close());
    session.on('error', () => {});
    session.on('goaway', () => this.#forget(origin, connection));
    session.on('close', () => this.#forget(origin, connection));
    this.#sessions.set(origin, connection);
    return connection;
  }

  #offersHttp2({ protocol, origin }: URL): boolean {
    return protocol === 'https:' && this.#settings.http2 && !this.#http1Only.has(origin);
  }

  #forget(origin: string, connection: Http2Connection): void {
    if (this.#sessions.get(origin) === connection) this.#sessions.delete(origin);
  }

  #socket(target: URL, signal: AbortSignal | undefined): Promise<Socket> {
    const { anyCertificate, connectTimeoutMs, resolve } = this.#settings;
    const isSecure = target.protocol === 'https:';
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !this.#addresses.allows(host))
      return Promise.reject(fetchErrorOf(new AddressRefused(host, host)));
    const where = {
      host,
      port: Number(target.port) || (isSecure ? 443 : 80),
      lookup: this.#addresses.lookup(resolve),
      autoSelectFamilyAttemptTimeout: Math.ceil(connectTimeoutMs / ATTEMPTS),
    };
    return new Promise((done, fail) => {
      const secure = {
        ALPNProtocols: this.#offersHttp2(target) ? ['h2', 'http/1.1'] : ['http/1.1'],
        ...(anyCertificate ? UNVERIFIED : VERIFIED),
        ...(isIP(host) === 0 && { servername: host }),
      };
      const socket = isSecure ? connectTls({ ...where, ...secure }) : connectTcp(where);
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
      const stop = (error: unknown) => {
        settle();
        socket.on('error', () => {});
        socket.destroy();
        fail(fetchErrorOf(error, Boolean((socket as Partial<TLSSocket>).authorizationError)));
      };
      const onAbort = () => stop(signal!.reason);
      const deadline = new Deadline(() =>
        stop(new FetchError('timeout', `no connection within ${connectTimeoutMs} ms`)),
      );
      deadline.start(connectTimeoutMs);
      const settle = () => {
        deadline.end();
        signal?.removeEventListener('abort', onAbort);
        socket.removeListener('error', stop);
      };
      // Check the address that the socket is connected to, since a look-up may have returned another.
      socket.once('connect', () => {
        const address = socket.remoteAddress ?? '';
        if (!this.#addresses.allows(address)) stop(new AddressRefused(host, address));
      });
      socket.once('error', stop);
      socket.once(isSecure ? 'secureConnect' : 'connect', () => {
        if (socket.destroyed) return;
        settle();
        done(socket);
      });
      if (signal?.aborted) onAbort();
      else signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  close(): void {
    clearInterval(this.#expiry);
    this.#expiry = undefined;
    this.#idle.clear();
    for (const { session } of this.#sessions.values()) session.destroy();
    this.#sessions.clear();
    for (const socket of this.#open) socket.destroy();
  }
}

function addressFields(socket: Socket): Field[] {
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '').replace(/%.*$/, '');
  return address === '' ? [] : [{ name: 'WARC-IP-Address', value: address }];
}

function protocolFields(socket: Socket, protocol: string): Field[] {
  const fields: Field[] = [{ name: 'WARC-Protocol', value: protocol }];
  if (!('getCipher' in socket)) return fields;
  const secure = socket as TLSSocket;
  const version = /^TLSv(.+)$/.exec(secure.getProtocol() ?? '')?.[1];
  if (version) fields.push({ name: 'WARC-Protocol', value: `tls/${version === '1' ? '1.0' : version}` });
  const cipher = secure.getCipher()?.standardName;
  if (cipher) fields.push({ name: 'WARC-Cipher-Suite', value: cipher });
  return fields;
}

const DNS_CODES = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME', 'ENODATA', 'ESERVFAIL']);

/** `isUnverified`: whether the certificate failed verification. */
export function fetchErrorOf(error: unknown, isUnverified = false): unknown {
  if (error instanceof FetchError || !(error instanceof Error) || error.name === 'AbortError') return error;
  // An aborted signal can have any error as its reason, even one with a number as its code.
  const code = String((error as { code?: unknown }).code ?? '');
  if (error instanceof AddressRefused) return new FetchError('address-refused', error.message, error);
  const isTls = code.startsWith('ERR_SSL_');
  const reason = isUnverified ? 'certificate' : DNS_CODES.has(code) ? 'dns' : isTls ? 'tls' : 'connection';
  return new FetchError(reason, errorText(error), error);
}
