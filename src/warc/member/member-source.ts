/**
 * Decodes a file member by member: uncompressed, gzip or zstd.
 *
 * A *member* is the smallest piece that can be decoded alone: a gzip member or a zstd frame. An uncompressed file is
 * one single member. Sources do no I/O: the caller fills `input` and pulls decoded bytes into a window of its own. A
 * pull does a bounded amount of work and returns why it stopped.
 */
import { assert } from '../../base/index.ts';
import type { FindingCode } from '../record/finding-catalogue.ts';
import type { ByteWindow } from './byte-window.ts';

export type Member = {
  /** Offset in the file. */
  readonly offset: number;
  /** Decoded position of the member's first byte. */
  readonly from: number;
  /** Decoded position past the member's last byte, once known. */
  to: number | undefined;
  /**
   * Length of the member in the file, once known. When the file ends inside the member, the number of bytes that the
   * file has. Never known for a member with other damage.
   */
  length: number | undefined;
  /** Whether the member has a checksum, which reveals wrong bytes. */
  readonly hasChecksum: boolean;
  /** Set when the member could not be decoded to its end. */
  isDamaged: boolean;
};

/**
 * - `data`: made progress.
 * - `need-input`: the caller has to fill the input window or set `isInputEnded`.
 * - `other`: no member begins here, but a record in another coding may. Every pull returns `other` until the caller
 *   changes the coding or calls `searchNext`.
 * - `end`: there is nothing more.
 */
export type PullResult = 'data' | 'need-input' | 'other' | 'end';

export type FindingSink = (code: FindingCode, offset: number, detail?: string) => void;

export interface MemberSource {
  /** Where the caller puts the bytes of the file. */
  readonly input: ByteWindow;
  /** Set by the caller when the file has no more bytes. */
  isInputEnded: boolean;
  /** Members that were begun and that the caller has not dropped, oldest first. An empty member is removed. */
  readonly members: Member[];
  pull(output: ByteWindow): PullResult;
  /** Stops decoding the current member, and searches for the next one. */
  leaveMember(output: ByteWindow): void;
  /** Searches for the next member after bytes that are not a member. */
  searchNext(): void;
  /** Whether the source is searching for a member, after damage or after `searchNext`. */
  readonly isSearching: boolean;
  close(): void;
}

/** The member that holds the decoded position. At a border between two members, this is the second one. */
export function memberAt(members: readonly Member[], position: number): Member {
  let at = members.length - 1;
  while (at > 0 && members[at]!.from > position) at--;
  const member = members[at];
  assert(member, 'every decoded byte belongs to a member');
  return member;
}

/** The member that holds the byte before the position. For the end of a head or body, it holds their last byte. */
export function memberBefore(members: readonly Member[], position: number): Member {
  let at = members.length - 1;
  while (at > 0 && members[at]!.from >= position) at--;
  return members[at]!;
}
