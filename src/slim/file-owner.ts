/**
 * Gives a file that replaces another the same owner, group and permissions, as far as this user is allowed to.
 */
import { fchmodSync, fchownSync, type Stats } from 'node:fs';

/** Sets the owner first, because changing the owner clears some permissions. */
export function giveOwner(descriptor: number, { uid, gid, mode }: Pick<Stats, 'uid' | 'gid' | 'mode'>): void {
  // Only root may change the owner. Another user may still change the group to one of the groups of this user.
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
