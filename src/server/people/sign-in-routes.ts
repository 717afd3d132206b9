/**
 * `/auth/` on the socket of the web page: signing in at a provider, and out.
 *
 *     GET  /auth/sign-in?to=PATH    to the provider; back to PATH in the end
 *     GET  /auth/callback           from the provider
 *     POST /auth/sign-out           ends the session; the reply has the address where the provider signs out too
 *
 * What the second half of a sign-in needs (state, nonce, the verifier of PKCE) is sealed in a cookie, so that strangers
 * who begin sign-ins fill no memory and no table. Each sign-in has a cookie of its own, because several windows may
 * sign in at the same time.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/index.ts';
import type { Guard } from '../http/guard.ts';
import { HttpProblem, methodRefused, NOT_FOUND, PLAIN_PAGE_FIELDS, requireReading } from '../http/problem.ts';
import { endReply } from '../http/reply-end.ts';
import type { Person } from '../tokens/role.ts';
import { roleOf } from '../tokens/role.ts';
import { cookieName, cookieOf, ownCookie } from './cookie.ts';
import type { OidcProvider, SignInChecks } from './oidc-provider.ts';
import { PAGE_COOKIE, type People } from './people.ts';
import { seal, unseal } from './seal.ts';
import type { SessionStore } from './session-store.ts';
import { type RefusalReason, refusalPage } from './sign-in-page.ts';

const SIGN_IN_COOKIE = 'pinakes-sign-in-';
const SIGN_IN_SECONDS = 600;
const STATE_IN_NAME = 8;
const PATH_CHARACTERS_MAX = 4096;
const SEALED_SIGN_IN = 'sign-in';
const SEALED_ID_TOKEN = 'id token';

type Pending = { readonly checks: SignInChecks; readonly to: string; readonly begun: number };

/** For the audit log. */
export type SignInEvent = {
  readonly action: 'sign-in' | 'sign-out';
  readonly outcome: 'done' | 'refused';
  readonly name: string;
  readonly id?: string;
  readonly role?: string;
  readonly reason?: string;
};

export type SignInRoutesOptions = {
  readonly provider: OidcProvider | undefined;
  readonly people: People;
  readonly sessions: SessionStore;
  readonly guard: Guard;
  readonly uiOrigin: string;
  readonly clock: Clock;
  readonly onEvent: (event: SignInEvent, request: IncomingMessage) => Promise<void>;
  readonly onFailure: ((error: unknown) => void) | undefined;
};

export class SignInRoutes {
  readonly #options: SignInRoutesOptions;

  constructor(options: SignInRoutesOptions) {
    this.#options = options;
  }

  async answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const { provider } = this.#options;
    if (path === '/auth/sign-out') return this.#signOut(request, response);
    if (!provider) throw new HttpProblem(NOT_FOUND);
    if (path === '/auth/sign-in') return this.#begin(request, response, provider);
    if (path === '/auth/callback') return this.#finish(request, response, provider);
    throw new HttpProblem(NOT_FOUND);
  }

  async #begin(request: IncomingMessage, response: ServerResponse, provider: OidcProvider): Promise<void> {
    const { uiOrigin, sessions, clock } = this.#options;
    requireReading(request);
    const to = ownPath(new URL(request.url!, uiOrigin).searchParams.get('to'), uiOrigin);
    const begun = await provider.begin(`${uiOrigin}/auth/callback`).catch((error: unknown) => {
      this.#options.onFailure?.(error);
      return undefined;
    });
    if (!begun) return this.#refuse(response, { reason: 'unreachable', to });
    const pending: Pending = { checks: begun.checks, to, begun: clock() };
    const value = seal(await sessions.key(), SEALED_SIGN_IN, pending);
    const name = SIGN_IN_COOKIE + begun.checks.state.slice(0, STATE_IN_NAME);
    const cookie = ownCookie(uiOrigin, { name, value, seconds: SIGN_IN_SECONDS, sameSite: 'Lax' });
    redirect(response, begun.url.href, [cookie]);
  }

  async #finish(request: IncomingMessage, response: ServerResponse, provider: OidcProvider): Promise<void> {
    const { uiOrigin, sessions, people, clock, onEvent } = this.#options;
    requireReading(request);
    const callback = new URL(request.url!, uiOrigin);
    const state = callback.searchParams.get('state') ?? '';
    const name = SIGN_IN_COOKIE + state.slice(0, STATE_IN_NAME);
    const sealed = /^[\w-]*$/.test(state) ? cookieOf(request, cookieName(uiOrigin, name)) : undefined;
    const pending = unseal(await sessions.key(), SEALED_SIGN_IN, sealed ?? '') as Pending | undefined;
    const over = ownCookie(uiOrigin, { name, value: '', seconds: 0, sameSite: 'Lax' });
    if (!pending || pending.checks.state !== state || clock() - pending.begun > SIGN_IN_SECONDS * 1000)
      return this.#refuse(response, { reason: 'outdated', to: pending?.to ?? '/' });
    const { to, checks } = pending;
    const refuse = async (reason: RefusalReason, person?: Person) => {
      await onEvent(eventOf('refused', person, reason), request);
      this.#refuse(response, { reason, to, ...(person && { name: person.name }) }, [over]);
    };
    if (callback.searchParams.has('error')) return refuse('declined');
    const signedIn = await provider.finish(callback, checks).catch((error: unknown) => {
      this.#options.onFailure?.(withoutSecrets(error));
      return undefined;
    });
    if (!signedIn) return refuse('failed');
    const { person, idToken } = signedIn;
    const role = roleOf(people.roles, person);
    if (!role) return refuse('roleless', person);
    const before = await people.session(request);
    if (before) await sessions.remove(before.hash);
    const { secret } = await people.begin({ kind: 'page', parent: '', person }, people.longestMs, (key) =>
      seal(Buffer.from(key), SEALED_ID_TOKEN, idToken),
    );
    await onEvent({ ...eventOf('done', person), role }, request);
    const seconds = Math.floor(people.longestMs / 1000);
    redirect(response, uiOrigin + to, [over, ownCookie(uiOrigin, { name: PAGE_COOKIE, value: secret, seconds })]);
  }

  async #signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { guard, people, sessions, uiOrigin, provider, onEvent } = this.#options;
    if (request.method !== 'POST') throw methodRefused('POST');
    guard.checkOrigin(request);
    const session = await people.session(request);
    let address: string | undefined;
    if (session) {
      await sessions.remove(session.hash);
      await onEvent({ ...eventOf('done', session.person), action: 'sign-out' }, request);
      const secret = cookieOf(request, cookieName(uiOrigin, PAGE_COOKIE))!;
      const idToken = unseal(Buffer.from(secret), SEALED_ID_TOKEN, session.sealed ?? '') as string | undefined;
      // Our session has ended, whatever the provider says.
      address = await provider?.signOutAddress(idToken, `${uiOrigin}/`).catch(() => undefined);
    }
    const body = Buffer.from(`${JSON.stringify({ signedOut: session !== undefined, to: address ?? null })}\n`);
    response.writeHead(200, {
      ...PLAIN_PAGE_FIELDS,
      'content-type': 'application/json; charset=utf-8',
      'content-length': body.length,
      'set-cookie': ownCookie(uiOrigin, { name: PAGE_COOKIE, value: '', seconds: 0 }),
    });
    endReply(response, body);
  }

  #refuse(
    response: ServerResponse,
    refusal: { readonly reason: RefusalReason; readonly to: string; readonly name?: string },
    cookies: readonly string[] = [],
  ): void {
    const { provider, uiOrigin } = this.#options;
    const { status, text } = refusalPage({ ...refusal, provider: provider!.name, home: uiOrigin });
    const body = Buffer.from(text);
    response.writeHead(status, {
      ...PLAIN_PAGE_FIELDS,
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'content-type': 'text/html; charset=utf-8',
      'content-length': body.length,
      ...(cookies.length > 0 && { 'set-cookie': [...cookies] }),
    });
    endReply(response, body);
  }
}

function eventOf(outcome: SignInEvent['outcome'], person: Person | undefined, reason?: string): SignInEvent {
  return {
    action: 'sign-in',
    outcome,
    name: person?.name ?? '',
    ...(person && { id: person.ids[0]! }),
    ...(reason !== undefined && { reason }),
  };
}

/** A path of our own web page. An address that leads elsewhere becomes the start page. */
function ownPath(to: string | null, uiOrigin: string): string {
  if (to === null || to.length > PATH_CHARACTERS_MAX || !to.startsWith('/')) return '/';
  const url = URL.parse(to, uiOrigin);
  if (!url || url.origin !== uiOrigin || url.pathname.startsWith('/auth/')) return '/';
  return url.pathname + url.search;
}

function redirect(response: ServerResponse, location: string, cookies: readonly string[]): void {
  const fields = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'content-length': 0 };
  response.writeHead(302, { ...fields, 'set-cookie': [...cookies] }).end();
}

/** What the operator reads of a failure: the kind, and not the parameters, which have codes and tokens. */
function withoutSecrets(error: unknown): Error {
  const { name, message, code, error: kind } = (error ?? {}) as Record<string, unknown>;
  const facts = [code, kind].filter((fact) => typeof fact === 'string').join(', ');
  return new Error(`a sign-in failed: ${String(name)}: ${String(message)}${facts === '' ? '' : ` (${facts})`}`);
}
