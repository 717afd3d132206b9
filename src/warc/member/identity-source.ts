/**
 * Uncompressed files. Their records need no decoding, so input and output share one window and nothing is copied.
 */
import { ByteWindow } from './byte-window.ts';
import type { Member, MemberSource, PullResult } from './member-source.ts';

export class IdentitySource implements MemberSource {
  readonly input: ByteWindow;
  isInputEnded = false;
  readonly isSearching = false;
  readonly members: Member[];

  constructor(offset: number, windowBytes: number) {
    this.input = new ByteWindow(offset, windowBytes);
    this.members = [{ offset, from: offset, to: undefined, length: undefined, hasChecksum: false, isDamaged: false }];
  }

  pull(): PullResult {
    if (!this.isInputEnded) return 'need-input';
    const member = this.members[0];
    if (member) member.to = this.input.endPosition;
    return 'end';
  }

  leaveMember(): void {}

  searchNext(): void {}

  close(): void {}
}
