/**
 * People whom a proxy names in a field of every request. The field counts only when the request came over a Unix
 * socket, or has the secret of the proxy; an address never suffices. A request with the field and without the secret is
 * refused, since it shows a mistake or an attack.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HttpProblem } from '../http/problem.ts';
import { Access } from '../tokens/access.ts';
import { type RoleRule, roleOf } from '../tokens/role.ts';
import { PROXY_SECRET_FIELD, type ProxyOptions } from './sign-in-options.ts';

const NAME_CHARACTERS_MAX = 200;

export class ProxyPeople {
  readonly #options: ProxyOptions & { readonly roles: readonly RoleRule[] };
  readonly #secretDigest: Buffer | undefined;

  constructor(options: ProxyOptions & { readonly roles: readonly RoleRule[] }) {
    this.#options = options;
    this.#secretDigest = options.secret === undefined ? undefined : sha256Of(options.secret);
  }

  /** Undefined: the proxy names nobody. */
  identify(request: IncomingMessage): Access | undefined {
    const { userHeader, groupsHeader, roles } = this.#options;
    const name = oneField(request, userHeader);
    if (name === undefined || name === '') return undefined;
    if (!this.#isFromProxy(request)) throw new HttpProblem(NOT_THE_PROXY);
    const groups = groupsHeader === undefined ? '' : (oneField(request, groupsHeader) ?? '');
    const person = { name, ids: [name], groups: groups.split(',').map((group) => group.trim()) };
    const role = roleOf(roles, person);
    if (!role) throw new HttpProblem({ ...NO_ROLE, where: name });
    return Access.ofPerson({ name, id: name, role });
  }

  /** On a Unix socket a connection has no address. Who may connect to it is decided by the file system. */
  #isFromProxy(request: IncomingMessage): boolean {
    if (this.#secretDigest === undefined) return request.socket.remoteAddress === undefined;
    const given = oneField(request, PROXY_SECRET_FIELD) ?? '';
    // Comparing digests, which have equal lengths, reveals nothing about the secret.
    return timingSafeEqual(sha256Of(given), this.#secretDigest);
  }
}

/** The value of a field that must not be there twice: the client might have sent one, and the proxy the other. */
function oneField({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  const wanted = name.toLowerCase();
  const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === wanted);
  if (values.length > 1) throw new HttpProblem(NAMED_TWICE);
  // Node reads fields as Latin-1; proxies send UTF-8.
  const value = values[0] === undefined ? undefined : Buffer.from(values[0], 'latin1').toString('utf8').trim();
  if (value !== undefined && (value.length > NAME_CHARACTERS_MAX * 20 || /[\p{Cc}]/u.test(value)))
    throw new HttpProblem(NAMED_TWICE);
  return value;
}

function sha256Of(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const NOT_THE_PROXY = {
  status: 403,
  code: 'PROXY_SECRET_WRONG',
  message: 'the request names a person, and does not come from the proxy that signs people in',
  advice: 'Use the address of the proxy. Operators: docs/users.md says how the proxy proves itself.',
};

const NAMED_TWICE = {
  status: 400,
  code: 'BAD_REQUEST',
  message: 'the field that names the person is there twice, or is not valid',
  advice: 'The proxy has to replace this field of the client, and not to add another.',
};

export const NO_ROLE = {
  status: 403,
  code: 'ROLE_MISSING',
  message: 'you are signed in, and have no role in this archive',
  advice: 'Ask the operator of the archive for a role: reader, curator or administrator.',
};
