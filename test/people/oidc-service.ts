/**
 * A real OpenID Connect provider on a port of this machine, with people in groups. It signs anybody in who types a
 * known name; its forms are submitted by `signInAt`, or by a browser.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export const CLIENT_ID = 'pinakes';
export const CLIENT_SECRET = 'the-secret-of-the-client-at-the-provider';

export type Member = { readonly groups: readonly string[]; readonly email?: string };

export const MEMBERS: Readonly<Record<string, Member>> = {
  ada: { groups: ['archive-admins'], email: 'ada@library.example' },
  carl: { groups: ['editors', 'staff'], email: 'carl@library.example' },
  rita: { groups: ['staff'], email: 'rita@library.example' },
  eve: { groups: ['visitors'], email: 'eve@elsewhere.example' },
};

export class OidcService implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** `redirectOrigin` is asked for at every sign-in, since the server of the archive may start later. */
  static async start(redirectOrigins: () => readonly string[]): Promise<OidcService> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
    const service = new OidcService(server);
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          redirect_uris: [`${issuer}/unused`],
          post_logout_redirect_uris: [`${issuer}/unused`],
          grant_types: ['authorization_code'],
          response_types: ['code'],
        },
      ],
      cookies: { keys: ['cookies of the tests'] },
      claims: { openid: ['sub'], profile: ['preferred_username', 'groups'], email: ['email', 'email_verified'] },
      pkce: { required: () => true },
      findAccount: (_, id) => ({
        accountId: id,
        claims: () => ({
          sub: id,
          preferred_username: id,
          groups: [...(MEMBERS[id]?.groups ?? [])],
          email: MEMBERS[id]?.email,
          email_verified: true,
        }),
      }),
      // The forms of the provider itself. They take any name.
      features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    });
    // The addresses of the servers are known only when they have started.
    const { Client } = provider;
    Client.prototype.redirectUriAllowed = (uri: string) =>
      redirectOrigins().some((origin) => uri === `${origin}/auth/callback`);
    Client.prototype.postLogoutRedirectUriAllowed = (uri: string) =>
      redirectOrigins().some((origin) => uri === `${origin}/`);
    server.on('request', provider.callback());
    return service;
  }

  get issuer(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** A browser without a screen: keeps cookies for each host as browsers do, and follows redirections by itself. */
export class Visitor {
  /** By host name: ports share cookies. */
  readonly #jars = new Map<string, Map<string, string>>();
  /** Every request, with the cookies that it had. */
  readonly sent: { readonly url: string; readonly cookie: string }[] = [];

  cookies(url: string): ReadonlyMap<string, string> {
    return this.#jarOf(url);
  }

  setCookie(url: string, name: string, value: string): void {
    this.#jarOf(url).set(name, value);
  }

  /** One request, without following where it leads. */
  async ask(url: string, init: RequestInit = {}): Promise<Response> {
    const jar = this.#jarOf(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    this.sent.push({ url, cookie });
    const headers = { ...(init.headers as Record<string, string>), ...(cookie !== '' && { cookie }) };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...rules] = line.split(';').map((part) => part.trim());
      const at = pair.indexOf('=');
      const isOver = rules.some((rule) => /^max-age=0$/i.test(rule) || /^expires=Thu, 01 Jan 1970/i.test(rule));
      if (isOver) jar.delete(pair.slice(0, at));
      else jar.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  }

  /** Follows redirections until `stop` says so, or there is none. */
  async follow(
    url: string,
    stop: (next: string) => boolean = () => false,
  ): Promise<{ url: string; response: Response }> {
    for (let at = url, steps = 0; ; steps++) {
      const response = await this.ask(at);
      const location = response.headers.get('location');
      if (location === null) return { url: at, response };
      if (steps > 20) throw new Error(`too many redirections, the last to ${location}`);
      const next = new URL(location, at).href;
      await response.body?.cancel();
      if (stop(next)) return { url: next, response };
      at = next;
    }
  }

  #jarOf(url: string): Map<string, string> {
    const { hostname } = new URL(url);
    const jar = this.#jars.get(hostname) ?? new Map<string, string>();
    this.#jars.set(hostname, jar);
    return jar;
  }
}

/** Signs in at the provider, and returns the address with which it sends the browser back: not yet visited. */
export async function callbackFor(visitor: Visitor, uiUrl: string, name: string, to = '/'): Promise<string> {
  const isBack = (next: string) => new URL(next).pathname === '/auth/callback';
  const begun = await visitor.follow(`${uiUrl}/auth/sign-in?${new URLSearchParams({ to })}`, isBack);
  if (isBack(begun.url)) return begun.url;
  let { url, response } = begun;
  for (let forms = 0; forms < 3; forms++) {
    const page = await response.text();
    const action = /<form[^>]+action="([^"]+)"/.exec(page)?.[1];
    if (!action) throw new Error(`no form at ${url}: ${page.slice(0, 500)}`);
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? 'login';
    const fields = prompt === 'login' ? { prompt, login: name, password: 'any' } : { prompt };
    const sent = await visitor.ask(new URL(action, url).href, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    });
    const next = new URL(sent.headers.get('location')!, url).href;
    if (isBack(next)) return next;
    ({ url, response } = await visitor.follow(next, isBack));
    if (isBack(url)) return url;
  }
  throw new Error(`the provider does not come to an end at ${url}`);
}
