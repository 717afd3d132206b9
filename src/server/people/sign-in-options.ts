/** How people sign in, and what makes a sign-in unsafe: a server with such options does not start. */
import { isIP } from 'node:net';
import { PinakesError } from '../../base/index.ts';
import { isLoopback } from '../http/host-check.ts';
import type { RoleRule } from '../tokens/role.ts';

/** At an OpenID Connect provider. */
export type OidcOptions = {
  readonly kind: 'oidc';
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined: a public client, which has PKCE only. */
  readonly clientSecret?: string | undefined;
  /** Default: `openid profile email`. */
  readonly scope?: string | undefined;
  /** The claim with the groups of a person; `a.b` is in another claim. Default: `groups`. */
  readonly groupsClaim?: string | undefined;
  /** A session ends when it was not used for this long. */
  readonly idleMs?: number | undefined;
  /** A session ends this long after the sign-in. */
  readonly longestMs?: number | undefined;
};

/** At a proxy in front of the server, which names the person in a field of every request. */
export type ProxyOptions = {
  readonly kind: 'proxy';
  readonly userHeader: string;
  /** A field with groups, with commas between. */
  readonly groupsHeader?: string | undefined;
  /** What the proxy sends in `X-Pinakes-Proxy-Secret`. Not needed on Unix sockets. */
  readonly secret?: string | undefined;
  /** Where the proxy signs people out. */
  readonly signOutUrl?: string | undefined;
};

export type SignInOptions = (OidcOptions | ProxyOptions) & { readonly roles: readonly RoleRule[] };

export const PROXY_SECRET_FIELD = 'x-pinakes-proxy-secret';
/** Enough that nobody guesses it. */
const PROXY_SECRET_LENGTH_MIN = 16;
const FIELD_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/i;
/** Fields that clients or this server use for other things. */
const OTHER_FIELDS = new Set(['authorization', 'cookie', 'host', 'origin', 'referer', PROXY_SECRET_FIELD]);

type Places = {
  readonly host: string;
  readonly uiOrigin?: string | undefined;
  readonly replayOrigin?: string | undefined;
  readonly isOnUnixSockets: boolean;
};

/** Throws SIGN_IN_UNSAFE for options with which others could act as somebody who is signed in. */
export function checkSignIn(options: SignInOptions, places: Places): void {
  if (options.roles.length === 0)
    throw unsafe('--role', 'nobody would have a role; name at least one, such as --role administrator=GROUP');
  if (options.kind === 'proxy') checkProxy(options, places);
  else checkProvider(options, places);
}

function checkProxy({ userHeader, groupsHeader, secret, roles }: ProxyOptions & SignInOptions, places: Places): void {
  for (const name of [userHeader, ...(groupsHeader === undefined ? [] : [groupsHeader])])
    if (!FIELD_NAME.test(name) || OTHER_FIELDS.has(name.toLowerCase()))
      throw unsafe(name, 'a proxy names people in a header field of its own, such as X-Forwarded-User');
  if (groupsHeader === undefined && roles.some((rule) => 'group' in rule && rule.group !== '*'))
    throw unsafe('--role', 'groups need --groups-header; without it name people with --person ROLE=NAME');
  if (places.isOnUnixSockets) return;
  if (secret === undefined) {
    const detail =
      'every program that reaches the port could write this field; let the server listen on Unix sockets with --socket-directory, or let the proxy prove itself with --proxy-secret-file';
    throw unsafe(`--user-header ${userHeader}`, detail);
  }
  if (secret.length < PROXY_SECRET_LENGTH_MIN)
    throw unsafe('--proxy-secret-file', `the secret needs at least ${PROXY_SECRET_LENGTH_MIN} characters`);
}

function checkProvider({ issuer }: OidcOptions, places: Places): void {
  const { protocol, hostname } = new URL(issuer);
  if (protocol !== 'https:' && !isLoopback(hostname))
    throw unsafe(`--oidc-issuer ${issuer}`, 'tokens of people would travel readable; the issuer needs https');
  const { host, uiOrigin, replayOrigin } = places;
  if (uiOrigin === undefined && replayOrigin === undefined && separateLoopback(host)) return;
  if (uiOrigin === undefined || replayOrigin === undefined)
    throw unsafe(`--host ${host}`, `${TWO_HOSTS}; give both with --ui-origin and --replay-origin`);
  const [ui, replay] = [new URL(uiOrigin), new URL(replayOrigin)];
  if (ui.hostname === replay.hostname) throw unsafe(`--replay-origin ${replayOrigin}`, TWO_HOSTS);
  if (ui.protocol !== 'https:' && !isLoopback(ui.hostname))
    throw unsafe(`--ui-origin ${uiOrigin}`, 'the cookies of people would travel readable; it needs https');
}

const TWO_HOSTS =
  'a browser sends the cookies of a host to all of its ports, so the web page and archived pages need two host names when people sign in';

/** On this machine, `localhost` is the host of the web page, and `127.0.0.1` that of archived pages. */
export function separateLoopback(host: string): boolean {
  return host === 'localhost' || (isIP(host) === 4 && host.startsWith('127.'));
}

function unsafe(where: string, detail: string): PinakesError {
  return new PinakesError('SIGN_IN_UNSAFE', { where, detail });
}
