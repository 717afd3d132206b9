/**
 * What turns the bytes of a file into the bytes of its records: nothing, gzip or zstd, one member after another.
 *
 * A *member* is the smallest piece that can be decoded alone: a gzip member, a zstd frame; an uncompressed file is one
 * single member. Sources do no I/O: the caller fills `input` and pulls decoded bytes into a window of its own. A pull
 * does a bounded amount of work and says why it stopped.
 */
import { assert } from '../../base/index.ts';
import type { FindingCode } from '../record/finding-catalogue.ts';
import type { ByteWindow } from './byte-window.ts';

export type Member = {
  /** Offset in the file. */
  readonly offset: number;
  /** Decoded position of its first byte. */
  readonly from: number;
  /** Decoded position past its last byte, once known. */
  to: number | undefined;
  /**
   * Its length in the file, once known; what is left of it when the file ends inside, and never known of a damaged one.
   */
  length: number | undefined;
  /** Whether it has a checksum, which shows when its bytes are wrong. */
  readonly isSummed: boolean;
  /** Set when the member could not be decoded to its end. */
  damaged: boolean;
};

/**
 * `data`: made progress; `need-input`: fill the input window, or set `inputEnded`; `other`: no member stands where one
 * should, but perhaps a record in another coding, and the same is said until somebody looks, or has it passed over;
 * `end`: nothing more will come.
 */
export type PullResult = 'data' | 'need-input' | 'other' | 'end';

export type FindingSink = (code: FindingCode, offset: number, detail?: string) => void;

export interface MemberSource {
  /** Where the caller puts the bytes of the file. */
  readonly input: ByteWindow;
  /** Set by the caller when the file has no more bytes. */
  inputEnded: boolean;
  /** Members begun and not yet dropped by the caller, oldest first. One that turns out to hold nothing is forgotten. */
  readonly members: Member[];
  pull(output: ByteWindow): PullResult;
  /** Decodes no more of the member at hand, and looks for the next one. */
  leaveMember(output: ByteWindow): void;
  /** Looks for the next member behind what is none. */
  passOver(): void;
  /** Whether it does that, or does after damage. */
  readonly isSearching: boolean;
  close(): void;
}

/** The member that the decoded position stands in; at a border, the one that begins there. */
export function memberAt(members: readonly Member[], position: number): Member {
  let at = members.length - 1;
  while (at > 0 && members[at]!.from > position) at--;
  const member = members[at];
  assert(member, 'a decoded byte stands in some member');
  return member;
}

/** The member that holds the byte before the position, which is where a body or a head that ends here came from. */
export function memberBefore(members: readonly Member[], position: number): Member {
  let at = members.length - 1;
  while (at > 0 && members[at]!.from >= position) at--;
  return members[at]!;
}
