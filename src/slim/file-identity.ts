/**
 * Whether a file is still the one that was looked at: same inode, same size, same time of last change. And whether
 * another process has it open for writing, where the system tells (Linux); elsewhere a writer shows only by the changes
 * it makes.
 */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { fileError } from '../base/index.ts';

export type FileIdentity = { readonly size: number; readonly modifiedNs: string; readonly inode: string };

export function identityOf(path: string): FileIdentity {
  try {
    const { size, mtimeNs, ino, dev } = statSync(path, { bigint: true });
    return { size: Number(size), modifiedNs: String(mtimeNs), inode: `${dev}:${ino}` };
  } catch (cause) {
    throw fileError(cause, path);
  }
}

export function identityIfThere(path: string): FileIdentity | undefined {
  const info = statSync(path, { bigint: true, throwIfNoEntry: false });
  return info && { size: Number(info.size), modifiedNs: String(info.mtimeNs), inode: `${info.dev}:${info.ino}` };
}

export function sameIdentity(a: FileIdentity, b: FileIdentity): boolean {
  return a.size === b.size && a.modifiedNs === b.modifiedNs && a.inode === b.inode;
}

/**
 * The same for all names of a file: links, and places where its disk is mounted. It says nothing of the disk, which can
 * be another one for each mount.
 */
export function fileFingerprint({ size, modifiedNs, inode }: FileIdentity): string {
  return `${inode.slice(inode.indexOf(':') + 1)} ${size} ${modifiedNs}`;
}

/** Those of the paths that lead to a file to which another one of them leads as well. */
export function namesOfOneFile(paths: readonly string[]): Set<string> {
  const first = new Map<string, string>();
  const found = new Set<string>();
  for (const path of paths) {
    const identity = identityIfThere(path);
    if (!identity) continue;
    const other = first.get(fileFingerprint(identity));
    if (other === undefined) first.set(fileFingerprint(identity), path);
    else found.add(other).add(path);
  }
  return found;
}

/** How exact the time is that a copy is given. */
const COPY_TIME_NS = 1_000_000n;

/** Whether it is the same file, or a copy of it that was given its time. */
export function sameOrCopy(a: FileIdentity, b: FileIdentity): boolean {
  if (sameIdentity(a, b)) return true;
  const apart = BigInt(a.modifiedNs) - BigInt(b.modifiedNs);
  return a.size === b.size && apart <= COPY_TIME_NS && apart >= -COPY_TIME_NS;
}

const ACCESS_MODE = 0o3;
const LOOKS = 5;

/** The files that processes have open for writing, as far as this user may see. Real paths. */
export function filesOpenForWriting(): Set<string> {
  const found = new Set<string>();
  for (const pid of entries('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    for (const descriptor of entries(`/proc/${pid}/fd`)) {
      const path = pathOpenForWriting(pid, descriptor);
      if (path !== undefined) found.add(path);
    }
  }
  return found;
}

/**
 * The system tells the path and the way it was opened apart from each other, and a number can pass to another file in
 * between: a file that is read would be taken for the one that is written next, by this very process too. So both are
 * looked at again, and must be what they were.
 */
function pathOpenForWriting(pid: string, descriptor: string): string | undefined {
  try {
    const link = `/proc/${pid}/fd/${descriptor}`;
    const path = readlinkSync(link);
    if (!path.startsWith('/') || path.startsWith('/dev/')) return undefined;
    for (let look = 0; look < LOOKS; look++) {
      const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'latin1'));
      const isWritten = flags !== null && (Number.parseInt(flags[1]!, 8) & ACCESS_MODE) !== 0;
      if (!isWritten || readlinkSync(link) !== path) return undefined;
    }
    return path;
  } catch {
    // The process or its descriptor went away meanwhile.
    return undefined;
  }
}

function entries(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
