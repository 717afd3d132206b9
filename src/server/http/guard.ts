/**
 * Decides who may call the server. The guard refuses requests from pages of other sites, above all from archived pages.
 * Browsers report the origin of a request. Writing needs a token with the right for it, the server's own or a named
 * one, or a person with a role that has the right. Reading needs one only when the server is private. The reply to a
 * wrong token is delayed, to make guessing slow.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../base/index.ts';
import { Access } from '../tokens/access.ts';
import type { Right } from '../tokens/right.ts';
import { hashOfToken, type TokenStore } from '../tokens/token-store.ts';
import { HttpProblem } from './problem.ts';

const WRONG_TOKEN_DELAY_MS = 400;
/** How many refusals may be delayed at one time. Further refusals are sent at once, which reveals nothing either. */
const WAITING_MAX = 32;

export type GuardOptions = {
  readonly uiOrigin: string;
  /** The token of the server, which may do everything. */
  readonly token: string;
  readonly tokens: TokenStore;
  readonly clock: Clock;
  /** Called with every request whose sender is known. */
  readonly onKnown?: ((request: IncomingMessage, access: Access) => void) | undefined;
  /** Whether reading needs a token or a sign-in too. */
  readonly isPrivate?: boolean;
  /** Who is signed in, by a cookie or by the word of a proxy; undefined for nobody. */
  readonly identifyPerson?: (request: IncomingMessage) => Promise<Access | undefined>;
  /** Whether people can sign in. */
  readonly hasSignIn?: boolean;
};

export class Guard {
  readonly #options: GuardOptions;
  readonly #tokenDigest: Buffer;
  readonly #anonymous: Access;
  #waiting = 0;

  constructor(options: GuardOptions) {
    this.#options = options;
    this.#tokenDigest = sha256Of(options.token);
    this.#anonymous = Access.anonymous(options.isPrivate ? [] : ['read']);
  }

  /** Refuses requests that a page of another origin made. */
  checkOrigin(request: IncomingMessage): void {
    const { origin, host } = request.headers;
    const site = request.headers['sec-fetch-site'];
    // The page may have been opened under another name of this server. The Host field was checked before.
    const isOwnPage = origin === this.#options.uiOrigin || (host !== undefined && origin === `http://${host}`);
    const isForeign = origin !== undefined && !isOwnPage;
    // A page on another port of this host has the same site, but another origin than the API.
    const isOtherSite = site !== undefined && site !== 'same-origin' && site !== 'none';
    if (!isForeign && !isOtherSite) return;
    throw new HttpProblem({
      status: 403,
      code: 'ORIGIN_REFUSED',
      message: 'the API refuses requests from pages of other origins',
      advice: 'Use the web page of this server, or call the API from a program.',
      where: origin,
    });
  }

  /**
   * What the sender of the request may do. Throws for a wrong token. Other schemes of authorization belong to a proxy
   * in front of the server, and count as no token.
   */
  async identify(request: IncomingMessage): Promise<Access> {
    const access = await this.#senderOf(request);
    if (!access.isAnonymous) this.#options.onKnown?.(request, access);
    return access;
  }

  async #senderOf(request: IncomingMessage): Promise<Access> {
    const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    if (given === undefined) return (await this.#options.identifyPerson?.(request)) ?? this.#anonymous;
    // Comparing digests, which have equal lengths, reveals nothing about the token, not even its length.
    if (timingSafeEqual(sha256Of(given), this.#tokenDigest)) return Access.operator;
    const token = await this.#options.tokens.find(hashOfToken(given));
    if (token && (token.expires ?? Number.POSITIVE_INFINITY) > this.#options.clock()) return Access.of(token);
    if (token) throw new HttpProblem({ ...REFUSED, code: 'TOKEN_EXPIRED', message: 'the token has expired' });
    if (this.#waiting < WAITING_MAX) {
      this.#waiting++;
      await wait(WRONG_TOKEN_DELAY_MS).finally(() => this.#waiting--);
    }
    throw new HttpProblem({ ...REFUSED, code: 'TOKEN_WRONG', message: 'the token is wrong' });
  }

  /**
   * Refuses a request that lacks a right, and one with a token for some collections only, unless the route limits its
   * answer to them.
   */
  async require(request: IncomingMessage, right: Right, isLimited = false): Promise<Access> {
    const access = await this.identify(request);
    if (access.isAnonymous && !access.may(right) && this.#options.hasSignIn) throw signInNeeded();
    requireRight(access, right);
    if (!isLimited && access.collections) throw limitedToken();
    return access;
  }

  /** Whether everybody may read. */
  get isOpen(): boolean {
    return this.#anonymous.may('read');
  }

  /** Serves a request for pages, lists or files if its sender may read them. Most need no check, and do not wait. */
  reading<Route>(
    request: IncomingMessage,
    route: Route,
    serve: () => Promise<void> | void,
  ): { readonly route: Route; readonly done: Promise<void> | void } {
    const isUnchecked = request.headers.authorization === undefined && this.isOpen;
    return { route, done: isUnchecked ? serve() : this.require(request, 'read').then(serve) };
  }
}

const REFUSED = {
  status: 401,
  advice:
    'Send `Authorization: Bearer TOKEN` with the token that the server printed when it started, or one of `pinakes token add`.',
  fields: { 'www-authenticate': 'Bearer' },
} as const;

export function requireRight(access: Access, right: Right): void {
  if (access.may(right)) return;
  if (access.isAnonymous)
    throw new HttpProblem({ ...REFUSED, code: 'TOKEN_MISSING', message: 'the request needs the token of the server' });
  const { person } = access;
  throw new HttpProblem({
    status: 403,
    code: 'RIGHT_MISSING',
    message: person ? `a ${person.role} may not do this` : `the token does not have the right ${right}`,
    advice: person
      ? `It needs the right ${right}. Ask the operator of the archive for another role.`
      : `Ask the operator for a token with the right ${right}.`,
  });
}

function signInNeeded(): HttpProblem {
  return new HttpProblem({
    ...REFUSED,
    code: 'SIGN_IN_NEEDED',
    message: 'this needs a sign-in',
    advice: 'Sign in on the web page of the archive. Programs send `Authorization: Bearer TOKEN`.',
  });
}

/** Refuses a collection that a token is not for. The reply is the same whether the collection exists or not. */
export function requireCollection(access: Access, collection: string): void {
  if (access.mayUse(collection)) return;
  throw new HttpProblem({
    status: 403,
    code: 'COLLECTION_REFUSED',
    message: 'the token is not for this collection',
    advice: `The token is for ${access.collections?.join(', ')}.`,
    where: collection,
  });
}

function limitedToken(): HttpProblem {
  return new HttpProblem({
    status: 403,
    code: 'TOKEN_LIMITED',
    message: 'the token is for some collections only, and this address would show others too',
    advice: 'Such a token can be used under /api/contents. Use a token without --collections here.',
  });
}

function sha256Of(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
