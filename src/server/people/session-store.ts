/**
 * Who is signed in. A cookie has 32 random bytes, and only their hash is kept. All servers of an archive show the same
 * sessions, so a sign-out ends a session on every server.
 */
import type { EpochMs } from '../../base/index.ts';
import type { Person } from '../tokens/role.ts';

export type Session = {
  /** SHA-256 of the cookie, in hexadecimal. */
  readonly hash: string;
  /**
   * `page`: the cookie of the web page. `ticket`: lets the browser get a cookie of the replay origin, once. `replay`:
   * the cookie of the replay origin, which only shows archived pages.
   */
  readonly kind: 'page' | 'ticket' | 'replay';
  /** What a ticket or a cookie of replay depends on: `session:HASH`, `token:HASH`, `server:HASH`. Empty for a page. */
  readonly parent: string;
  /** Of a page. */
  readonly person?: Person;
  /** What the sign-out at the provider needs, readable with the cookie only. */
  readonly sealed?: string;
  readonly created: EpochMs;
  /** When it was used last, to the minute. */
  readonly used: EpochMs;
  /** It ends at this time even if it is used. */
  readonly ends: EpochMs;
};

export interface SessionStore {
  /** Adds a session, and forgets all that ended before `endedBefore` or were last used before `usedBefore`. */
  add(session: Session, forget: { readonly endedBefore: EpochMs; readonly usedBefore: EpochMs }): Promise<void>;
  find(hash: string): Promise<Session | undefined>;
  touch(hash: string, used: EpochMs): Promise<void>;
  /** Removes a session and returns it. Of two callers at the same time one gets it. */
  take(hash: string): Promise<Session | undefined>;
  /** Removes a session with all tickets and cookies that depend on it. */
  remove(hash: string): Promise<void>;
  /** 32 random bytes, the same for all servers. Unfinished sign-ins are sealed with them. */
  key(): Promise<Uint8Array>;
  close(): Promise<void>;
}

export function parentOf(hash: string): string {
  return `session:${hash}`;
}
