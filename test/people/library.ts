/** A served archive whose people sign in at a real provider. */
import type { TestContext } from 'node:test';
import type { AccessLine, RoleRule, ServerOptions } from '../../src/server/index.ts';
import { type Served, START_MS, served } from '../api/served-archive.ts';
import { CLIENT_ID, CLIENT_SECRET, callbackFor, OidcService, type Visitor } from './oidc-service.ts';

export const ROLE_RULES: readonly RoleRule[] = [
  { role: 'administrator', group: 'archive-admins' },
  { role: 'curator', group: 'editors' },
  { role: 'reader', group: 'staff' },
];

const DAY_MS = 86_400_000;

export type Library = Served & {
  /** The access log. */
  readonly lines: AccessLine[];
  /** What the operator is told. */
  readonly failures: unknown[];
  /** Lets time go by. */
  pass(ms: number): void;
};

export async function library(t: TestContext, options: Partial<ServerOptions> = {}): Promise<Library> {
  const origins: string[] = [];
  const service = await OidcService.start(() => origins);
  t.after(() => service[Symbol.asyncDispose]());
  const lines: AccessLine[] = [];
  const failures: unknown[] = [];
  let now = START_MS + 100 * DAY_MS;
  const one = await served(t, {
    signIn: {
      kind: 'oidc',
      issuer: service.issuer,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      roles: ROLE_RULES,
    },
    onAccess: (line) => lines.push(line),
    onFailure: (error) => failures.push(error),
    clock: () => now,
    ...options,
  });
  origins.push(one.server.uiUrl);
  const pass = (ms: number) => {
    now += ms;
  };
  return { ...one, lines, failures, pass };
}

/** Signs somebody in, and returns the last reply. */
export async function signIn(visitor: Visitor, one: Library, name: string, to = '/'): Promise<Response> {
  return visitor.ask(await callbackFor(visitor, one.server.uiUrl, name, to));
}

export type PageCall = { readonly method?: string; readonly json?: unknown; readonly headers?: Record<string, string> };

/** A request of the web page, with the fields that browsers send. */
export async function asPage(visitor: Visitor, one: Library, path: string, call: PageCall = {}): Promise<Response> {
  const { json, method = json === undefined ? 'GET' : 'POST', headers = {} } = call;
  const isChange = method !== 'GET' && method !== 'HEAD';
  return visitor.ask(one.server.uiUrl + path, {
    method,
    headers: {
      'sec-fetch-site': 'same-origin',
      ...(isChange && { origin: one.server.uiUrl }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
}

export async function sessionOf(visitor: Visitor, one: Library): Promise<Record<string, unknown>> {
  return (await (await asPage(visitor, one, '/api/session')).json()) as Record<string, unknown>;
}

export async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code;
}
