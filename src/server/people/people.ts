/**
 * People who are signed in: by a session of ours after a sign-in at a provider, or by the word of a proxy. The guard
 * asks here for every request without a token.
 *
 * A browser sends cookies by itself, also when a hostile page makes the request. So a session counts for reading only
 * when the browser does not say that another site asks, and for changes only when the browser says that our own page
 * does.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../base/index.ts';
import { HttpProblem, isForWindow } from '../http/problem.ts';
import { Access } from '../tokens/access.ts';
import { type RoleRule, roleOf } from '../tokens/role.ts';
import { hashOfToken, type TokenStore } from '../tokens/token-store.ts';
import { cookieName, newSecret, secretOf } from './cookie.ts';
import { NO_ROLE, ProxyPeople } from './proxy-people.ts';
import { parentOf, type Session, type SessionStore } from './session-store.ts';
import type { SignInOptions } from './sign-in-options.ts';

export const PAGE_COOKIE = 'pinakes-session';
export const REPLAY_COOKIE = 'pinakes-replay';
const IDLE_MS = 2 * 3600 * 1000;
const LONGEST_MS = 12 * 3600 * 1000;
const TICKET_MS = 60_000;
const TOUCH_MS = 60_000;

export type PeopleOptions = {
  readonly signIn: SignInOptions | undefined;
  readonly sessions: SessionStore;
  readonly tokens: TokenStore;
  /** The token of the server. */
  readonly token: string;
  readonly uiOrigin: string;
  readonly replayOrigin: string;
  readonly clock: Clock;
};

export class People {
  readonly #options: PeopleOptions;
  readonly #proxy: ProxyPeople | undefined;
  readonly #roles: readonly RoleRule[];
  readonly #serverHash: string;
  readonly idleMs: number;
  readonly longestMs: number;

  constructor(options: PeopleOptions) {
    const { signIn, token } = options;
    this.#options = options;
    this.#roles = signIn?.roles ?? [];
    this.#proxy = signIn?.kind === 'proxy' ? new ProxyPeople(signIn) : undefined;
    this.#serverHash = createHash('sha256').update(token).digest('hex');
    this.idleMs = (signIn?.kind === 'oidc' ? signIn.idleMs : undefined) ?? IDLE_MS;
    this.longestMs = (signIn?.kind === 'oidc' ? signIn.longestMs : undefined) ?? LONGEST_MS;
  }

  get roles(): readonly RoleRule[] {
    return this.#roles;
  }

  /** Who sent a request to the web page or the API; undefined for nobody who is known. */
  async identify(request: IncomingMessage): Promise<Access | undefined> {
    const access = this.#proxy ? this.#proxy.identify(request) : await this.#signedIn(request);
    if (!access || isFromElsewhere(request)) return undefined;
    if (isChange(request) && !isFromOwnPage(request)) throw new HttpProblem(NOT_FROM_OWN_PAGE);
    return access;
  }

  /** Who sent a request to the replay origin, which only shows what may be read. */
  async identifyReader(request: IncomingMessage): Promise<Access | undefined> {
    if (this.#proxy) return this.#proxy.identify(request);
    const session = await this.#sessionOf(request, 'replay');
    return session && this.#ofParent(session.parent);
  }

  /** The session of a request that a page of ours may have sent. */
  async session(request: IncomingMessage): Promise<Session | undefined> {
    return this.#sessionOf(request, 'page');
  }

  /** A ticket with which the browser of this sender may show archived pages. */
  async replayTicket(access: Access): Promise<string> {
    const parent = access.person?.session
      ? parentOf(access.person.session)
      : access.token
        ? `token:${access.token.hash}`
        : `server:${this.#serverHash}`;
    return (await this.begin({ kind: 'ticket', parent }, TICKET_MS)).secret;
  }

  /** Exchanges a ticket for a cookie of the replay origin; undefined when the ticket was used or has ended. */
  async useTicket(ticket: string): Promise<string | undefined> {
    const { sessions, clock } = this.#options;
    const session = await sessions.take(hashOfToken(ticket));
    if (session?.kind !== 'ticket' || session.ends <= clock()) return undefined;
    return (await this.begin({ kind: 'replay', parent: session.parent }, this.longestMs)).secret;
  }

  /** Begins a session. The secret is for the cookie, and kept nowhere. */
  async begin(
    facts: Pick<Session, 'kind' | 'parent' | 'person'>,
    lifeMs: number,
    sealedBy?: (secret: string) => string,
  ): Promise<{ secret: string; hash: string }> {
    const { sessions, clock } = this.#options;
    const secret = newSecret();
    const hash = hashOfToken(secret);
    const now = clock();
    const times = { created: now, used: now, ends: now + lifeMs };
    const sealed = sealedBy?.(secret);
    await sessions.add(
      { hash, ...facts, ...(sealed !== undefined && { sealed }), ...times },
      { endedBefore: now, usedBefore: now - this.idleMs },
    );
    return { secret, hash };
  }

  async #signedIn(request: IncomingMessage): Promise<Access | undefined> {
    const session = await this.#sessionOf(request, 'page');
    return session && this.#accessOf(session);
  }

  /** The role follows from the rules of this server now, and not from those at the sign-in. */
  #accessOf({ hash, person }: Session): Access | undefined {
    if (!person) return undefined;
    const role = roleOf(this.#roles, person);
    if (!role) throw new HttpProblem({ ...NO_ROLE, where: person.name });
    return Access.ofPerson({ name: person.name, id: person.ids[0]!, role, session: hash });
  }

  async #sessionOf(request: IncomingMessage, kind: 'page' | 'replay'): Promise<Session | undefined> {
    const { uiOrigin, replayOrigin, sessions } = this.#options;
    const name = kind === 'page' ? cookieName(uiOrigin, PAGE_COOKIE) : cookieName(replayOrigin, REPLAY_COOKIE);
    const secret = secretOf(request, name);
    if (secret === undefined) return undefined;
    const session = await sessions.find(hashOfToken(secret));
    return session?.kind === kind && (await this.#isAlive(session)) ? session : undefined;
  }

  async #isAlive({ hash, used, ends }: Session): Promise<boolean> {
    const now = this.#options.clock();
    if (ends <= now || used + this.idleMs <= now) return false;
    if (now - used >= TOUCH_MS) await this.#options.sessions.touch(hash, now);
    return true;
  }

  /** What a cookie of replay depends on must still be valid: signing out, or revoking a token, ends it too. */
  async #ofParent(parent: string): Promise<Access | undefined> {
    const { sessions, tokens, clock } = this.#options;
    const [kind, hash = ''] = parent.split(':');
    if (kind === 'server') return hash === this.#serverHash ? Access.operator : undefined;
    if (kind === 'token') {
      const token = await tokens.find(hash);
      return token && (token.expires ?? Number.POSITIVE_INFINITY) > clock() ? Access.of(token) : undefined;
    }
    const session = await sessions.find(hash);
    return session && (await this.#isAlive(session)) ? this.#accessOf(session) : undefined;
  }
}

/** Whether the browser says that another site asks, and not for a window of its own. */
function isFromElsewhere(request: IncomingMessage): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return isChange(request) || !isForWindow(request);
}

function isChange({ method }: IncomingMessage): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
}

/**
 * The guard has refused foreign origins. Every browser of the last years sends one of these fields with every request
 * that is not GET or HEAD.
 */
function isFromOwnPage({ headers }: IncomingMessage): boolean {
  return headers['sec-fetch-site'] === 'same-origin' || headers.origin !== undefined;
}

const NOT_FROM_OWN_PAGE = {
  status: 403,
  code: 'ORIGIN_MISSING',
  message: 'the browser does not say which page sent this change',
  advice: 'Use a newer browser. Programs use a token instead of a session.',
};
