/** What the sender of a request may do: its rights, and the collections that it is limited to. */
import type { Right } from './right.ts';
import { type Role, rightsOf } from './role.ts';
import type { NamedToken } from './token-store.ts';

/** Who sent a request, for the audit log and for jobs. */
export type Actor = {
  /**
   * `server`: the token of the server itself. `system`: a user of the machine, on the command line. `anonymous`: nobody
   * who is known.
   */
  readonly kind: 'person' | 'token' | 'server' | 'system' | 'anonymous';
  readonly name: string;
  /** How the sign-in service identifies a person, whose name may change. */
  readonly id?: string;
};

export type SignedInPerson = {
  readonly name: string;
  readonly id: string;
  readonly role: Role;
  /** The hash of the cookie; undefined when a proxy names the person in every request. */
  readonly session?: string;
};

type Sender = { readonly token?: NamedToken; readonly person?: SignedInPerson; readonly isAnonymous?: boolean };

export class Access {
  /** The token; undefined for people, for the server's own token, and for requests without one. */
  readonly token: NamedToken | undefined;
  readonly person: SignedInPerson | undefined;
  readonly isAnonymous: boolean;
  readonly #rights: ReadonlySet<Right>;

  private constructor(rights: readonly Right[], { token, person, isAnonymous = false }: Sender = {}) {
    this.#rights = new Set(rights);
    this.token = token;
    this.person = person;
    this.isAnonymous = isAnonymous;
  }

  /** The token of the server itself. */
  static readonly operator: Access = new Access(['admin']);

  static of(token: NamedToken): Access {
    return new Access(token.rights, { token });
  }

  static ofPerson(person: SignedInPerson): Access {
    return new Access(rightsOf(person.role), { person });
  }

  /** A request without a token. */
  static anonymous(rights: readonly Right[]): Access {
    return new Access(rights, { isAnonymous: true });
  }

  may(right: Right): boolean {
    return this.#rights.has(right) || this.#rights.has('admin');
  }

  /** The only collections that the token is for; undefined for all. */
  get collections(): readonly string[] | undefined {
    return this.token?.collections;
  }

  mayUse(collection: string): boolean {
    return this.collections?.includes(collection) ?? true;
  }

  get actor(): Actor {
    if (this.person) return { kind: 'person', name: this.person.name, id: this.person.id };
    if (this.token) return { kind: 'token', name: this.token.name };
    return this.isAnonymous ? { kind: 'anonymous', name: '' } : { kind: 'server', name: 'token of the server' };
  }
}

/** Whether two requests were sent by the same person or with the same token. */
export function isSameActor(one: Actor, other: Actor): boolean {
  if (one.kind !== other.kind || one.kind === 'anonymous') return false;
  return one.id === undefined ? one.name === other.name : one.id === other.id;
}
