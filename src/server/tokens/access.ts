/** What the sender of a request may do: its rights, and the collections that it is limited to. */
import type { Right } from './right.ts';
import type { NamedToken } from './token-store.ts';

export class Access {
  /** The token; undefined for the server's own token and for requests without one. */
  readonly token: NamedToken | undefined;
  readonly isAnonymous: boolean;
  readonly #rights: ReadonlySet<Right>;

  private constructor(rights: readonly Right[], options: { token?: NamedToken; isAnonymous?: boolean } = {}) {
    this.#rights = new Set(rights);
    this.token = options.token;
    this.isAnonymous = options.isAnonymous ?? false;
  }

  /** The token of the server itself. */
  static readonly operator: Access = new Access(['admin']);

  static of(token: NamedToken): Access {
    return new Access(token.rights, { token });
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
}
