/**
 * Named tokens. Only the hash of a token is kept: 32 random bytes cannot be guessed, so SHA-256 is enough. The stores
 * of several servers of one archive show the same tokens.
 */
import { hash } from 'node:crypto';
import type { EpochMs } from '../../base/index.ts';
import type { Right } from './right.ts';

export type NamedToken = {
  readonly name: string;
  /** SHA-256 of the token, in hexadecimal. */
  readonly hash: string;
  readonly rights: readonly Right[];
  /** Absent: all collections. */
  readonly collections?: readonly string[];
  readonly created: EpochMs;
  /** The token is refused from this time on. */
  readonly expires?: EpochMs;
  /** How many bytes may be stored with the token. */
  readonly quotaBytes?: number;
};

export interface TokenStore {
  /** The token with this hash. It may have expired. */
  find(hash: string): Promise<NamedToken | undefined>;
  list(): Promise<readonly NamedToken[]>;
  /** Throws TOKEN_EXISTS when another token has the name. */
  add(token: NamedToken): Promise<void>;
  /** Throws TOKEN_UNKNOWN when there is none. */
  revoke(name: string): Promise<void>;
  /** How many bytes were stored with a token. */
  usedBytes(token: NamedToken): Promise<number>;
  /**
   * Counts bytes that are about to be stored. False: the quota does not allow them, and nothing was counted. A negative
   * number gives back what was not stored.
   */
  charge(token: NamedToken, bytes: number): Promise<boolean>;
  /** Ends timers, and writes what was counted last. */
  close(): Promise<void>;
}

export function hashOfToken(secret: string): string {
  return hash('sha256', secret, 'hex');
}
