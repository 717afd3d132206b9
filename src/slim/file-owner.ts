/**
 * Owner, group and permissions of a file that takes the place of another: as far as this user may, they are those of
 * the other.
 */
import { fchmodSync, fchownSync, type Stats } from 'node:fs';

/** The owner first: giving a file away takes some permissions off it. */
export function giveOwner(descriptor: number, { uid, gid, mode }: Pick<Stats, 'uid' | 'gid' | 'mode'>): void {
  // Only root gives files away; a member of the group may still give them to the group.
  if (!tryOwner(descriptor, uid, gid)) tryOwner(descriptor, process.getuid?.() ?? uid, gid);
  fchmodSync(descriptor, mode & 0o7777);
}

function tryOwner(descriptor: number, uid: number, gid: number): boolean {
  try {
    fchownSync(descriptor, uid, gid);
    return true;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EPERM' || code === 'EINVAL' || code === 'ENOSYS') return false;
    throw cause;
  }
}
